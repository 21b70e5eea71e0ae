from patience.clock import Clock
from patience.errors import GaveUp, Open
from patience.policy import Policy


def retry(call, policy=Policy(), on=(Exception,), clock=None):
    """The value of `call`. Raises GaveUp; what is not `on` the list is raised at once."""
    clock = clock or Clock()
    for wait in [*policy.waits(), None]:
        try:
            return call()
        except Open:
            raise
        except on as error:
            if wait is None:
                raise GaveUp(policy.tries) from error
            clock.sleep(wait)
