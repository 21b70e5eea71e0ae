class NotesError(Exception):
    """The root; its text is for the user."""
