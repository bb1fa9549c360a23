"""Settings of the whole suite."""

import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("few", settings.get_profile("default"), max_examples=10)
settings.load_profile("few" if os.environ.get("TIMELOOM_FEW_EXAMPLES") else "default")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell without job control lets what it starts in the background ignore Ctrl-C, which tests send.
    signal.signal(signal.SIGINT, signal.default_int_handler)
