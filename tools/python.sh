#!/bin/sh
# Run a script with the first Python that can build .venv: sh tools/python.sh SCRIPT [ARGUMENT ...]
# $PYTHON, when set, is the only candidate. This file is sh because Python may be missing.
set -u

candidates=${PYTHON:-python3.11 python3.12 python3.13 python3.14 python3 python}

# Prints: ok | novenv | old VERSION | nothing where it cannot be run. Valid in Python 2 as well.
probe='import sys
if sys.version_info < (3, 11):
    print("old %d.%d" % sys.version_info[:2])
else:
    try:
        import ensurepip, venv
        print("ok" if ensurepip.version() else "novenv")
    except Exception:
        print("novenv")'

old= novenv=
for python in $candidates; do
    answer=$("$python" -c "$probe" 2>/dev/null)
    case $answer in
        ok) exec "$python" "$@" ;;
        novenv) novenv=${novenv:-$python} ;;
        old*) old="${old:+$old, }$python is ${answer#old }" ;;
    esac
done

if [ -n "$novenv" ]; then
    echo "normscope: $novenv lacks the venv module; install it (Debian, Ubuntu: sudo apt-get install python3-venv)" >&2
elif [ -n "$old" ]; then
    echo "normscope: Python 3.11 or newer is needed ($old); install one, or name it: make PYTHON=/path/to/python3" >&2
else
    echo "normscope: Python 3.11 or newer is needed and none was found (tried: $candidates)" >&2
fi
exit 1
