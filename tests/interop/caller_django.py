# SPDX-License-Identifier: Apache-2.0
"""A program that locks through Django's connection, for callers.sh.

  caller_django.py postgresql|mysql DATABASE USER SOCKET

  try KEY      with advisory_lock() of django-pglocks, wait=False; a KEY of digits
               is passed as an int, and one of two numbers as a tuple
  share KEY    the same, and shared=True
  wait KEY     until it is held
  atomic KEY   pg_try_advisory_xact_lock() in transaction.atomic(); end ends it
  end          of the block; of the program, outside of one

On MySQL, which has no such package: GET_LOCK() by a cursor.
"""

import contextlib
import re
import sys

import django
from django.conf import settings

engine, database, user, socket = sys.argv[1:]
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends." + engine,
            "NAME": database,
            "USER": user,
            "HOST": socket,
        }
    }
)
django.setup()

from django.db import connection, transaction  # noqa: E402


def answer(text):
    print(text, flush=True)


def ask(sql, *args):
    with connection.cursor() as cursor:
        cursor.execute(sql, args)
        return cursor.fetchone()[0]


@contextlib.contextmanager
def named(key, seconds):
    is_held = ask("SELECT GET_LOCK(%s, %s)", key, seconds) == 1
    yield is_held
    if is_held:
        ask("SELECT RELEASE_LOCK(%s)", key)


@contextlib.contextmanager
def atomic(key):
    with transaction.atomic():
        yield ask("SELECT pg_try_advisory_xact_lock(%s)", key)


def numbers(key):
    """What a caller of django-pglocks writes: a text, an int or a tuple."""
    if not re.fullmatch(r"-?\d+(,-?\d+)?", key):
        return key
    parts = tuple(int(part) for part in key.split(","))
    return parts if len(parts) == 2 else parts[0]


def lock(verb, key):
    if engine == "mysql":
        return named(key, 60 if verb == "wait" else 0)
    if verb == "atomic":
        return atomic(int(key))
    return django_pglocks.advisory_lock(
        numbers(key), shared=verb == "share", wait=verb == "wait"
    )


if engine == "mysql":
    import MySQLdb

    driver = "mysqlclient " + MySQLdb.__version__
else:
    import django_pglocks
    import psycopg2

    driver = "django-pglocks %s, psycopg2 %s" % (
        django_pglocks.__version__,
        psycopg2.__version__.split()[0],
    )
answer("Django %s, %s" % (django.get_version(), driver))
for line in iter(sys.stdin.readline, ""):
    if line == "end\n":
        break
    verb, key = line.rstrip("\n").split(" ", 1)
    with lock(verb, key) as is_held:
        if is_held:
            answer("held")
            sys.stdin.readline()
    answer("released" if is_held else "refused")
