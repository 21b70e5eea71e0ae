class SettingsError(Exception):
    """The root."""


class Missing(SettingsError, KeyError):
    """No layer has the setting."""

    def __str__(self):
        return f"no such setting: {self.args[0]}"


class Unfit(SettingsError):
    """A value is not of the kind that is asked for."""
