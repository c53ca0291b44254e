"""The network namespace that the suite runs in: only loopback, its own process tree, nothing outlives it.

Linux only. Must not know what runs inside.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import struct
import subprocess

# A network of its own, and a process tree of its own that the kernel ends with us, however we end.
_FLAGS = ("--net", "--pid", "--fork", "--kill-child", "--mount-proc")

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1


def unshare_command() -> list[str]:
    """The `unshare` prefix for this user: root directly, anyone else through a user namespace."""
    mine = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *mine, *_FLAGS, "--"]


def may_unshare() -> bool:
    """True when this user may have such a namespace here."""
    try:
        done = subprocess.run([*unshare_command(), "true"], capture_output=True, timeout=20, check=False)
    except OSError:
        return False
    return done.returncode == 0


def interfaces() -> list[str]:
    """Names of the network interfaces that this process can see."""
    return [name for _, name in socket.if_nameindex()]


def only_loopback() -> bool:
    return interfaces() == ["lo"]


def bring_loopback_up() -> None:
    """What `ip link set lo up` does, on machines that have no `ip` too."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        answer = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request)
        flags = struct.unpack("16sh14x", answer)[1] | _IFF_UP
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags))


def run_as_first_process(argv: list[str]) -> int:
    """Run `argv` and return its exit status, reaping whatever else becomes ours meanwhile.

    The first process of a process tree inherits every orphan; one that never reaps them would make processes look
    alive that are gone. ^C goes to the child too and SIGTERM is handed on to it; we wait for its cleaning up.
    """
    child = subprocess.Popen(argv)
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    signal.signal(signal.SIGTERM, lambda number, _frame: child.send_signal(number))
    while True:
        pid, status = os.wait()
        if pid == child.pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode if child.returncode >= 0 else 128 - child.returncode
