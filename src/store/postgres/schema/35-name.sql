
-- ---- A name ----------------------------------------------------------------

-- The name as of s.us: drop expired state. Reads the sharers; called in an
-- expression of a VOLATILE function it sees all earlier commits.
CREATE OR REPLACE FUNCTION holdfast.at_present(s holdfast.state)
RETURNS holdfast.state
LANGUAGE plpgsql STABLE AS $fn$
BEGIN
    s.now := s.us / 1000;
    s.floor := s.us - s.us % FLOOR_STEP;
    s.sharers := 0;
    s.is_taken := false;
    s.grants := 0;
    IF s.owner IS NOT NULL AND s.terms >= 0 THEN
        SELECT count(*) INTO s.sharers FROM holdfast.sharer h
            WHERE h.name = s.name AND h.until > s.now;
    END IF;
    IF s.until < s.now OR (s.terms >= 0 AND s.sharers = 0) THEN
        s.owner := NULL;
        s.sharers := 0;
    END IF;
    IF s.owner IS NULL THEN
        s.terms := -1;
    END IF;
    IF s.kept_until < s.now THEN
        s.counter := 0;
        s.last := NULL;
        s.kept_until := 0;
    END IF;
    RETURN s;
END
$fn$;

-- Lock the row of a name, then read the clock.
CREATE OR REPLACE FUNCTION holdfast.open(lock_name bytea, keep_ms bigint)
RETURNS holdfast.state
LANGUAGE plpgsql AS $fn$
DECLARE
    s holdfast.state;
BEGIN
    LOOP
        SELECT l.name, l.owner, l.until, l.terms, l.counter, l.last,
                l.kept_until
            INTO s.name, s.owner, s.until, s.terms, s.counter, s.last,
                s.kept_until
            FROM holdfast.lock l WHERE l.name = lock_name
            FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO holdfast.lock (name) VALUES (lock_name)
            ON CONFLICT DO NOTHING;
    END LOOP;
    s.us := holdfast.clock();
    s.keep_ms := keep_ms;
    RETURN holdfast.at_present(s);
END
$fn$;

-- The same without a lock, for verbs that write nothing.
CREATE OR REPLACE FUNCTION holdfast.read(lock_name bytea)
RETURNS holdfast.state
LANGUAGE plpgsql STABLE AS $fn$
DECLARE
    s holdfast.state;
BEGIN
    SELECT l.name, l.owner, l.until, l.terms, l.counter, l.last, l.kept_until
        INTO s.name, s.owner, s.until, s.terms, s.counter, s.last, s.kept_until
        FROM holdfast.lock l WHERE l.name = lock_name;
    IF NOT FOUND THEN
        s.name := lock_name;
        s.until := 0;
        s.terms := -1;
        s.counter := 0;
        s.kept_until := 0;
    END IF;
    s.us := holdfast.clock();
    RETURN holdfast.at_present(s);
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.store(s holdfast.state) RETURNS void
LANGUAGE plpgsql AS $fn$
BEGIN
    UPDATE holdfast.lock l
        SET owner = s.owner, until = s.until, terms = s.terms,
            counter = s.counter, last = s.last, kept_until = s.kept_until
        WHERE l.name = s.name;
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.reply(s holdfast.state, verdict integer)
RETURNS holdfast.answer
LANGUAGE plpgsql IMMUTABLE AS $fn$
BEGIN
    RETURN (verdict, s.counter,
        CASE WHEN s.owner IS NULL THEN -2 ELSE s.until - s.now END,
        coalesce(s.owner, ''), 0, 0, 0, 0, 0, greatest(s.terms, 0), s.sharers,
        0)::holdfast.answer;
END
$fn$;

-- fence_keep counts from the clock's passing of the counter.
CREATE OR REPLACE FUNCTION holdfast.keep(s holdfast.state, v bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE AS $fn$
    SELECT s.now + s.keep_ms + greatest((v - s.us + 999) / 1000, 0)
$fn$;

CREATE OR REPLACE FUNCTION holdfast.write_counter(s holdfast.state, v bigint,
    last bytea)
RETURNS holdfast.state
LANGUAGE plpgsql IMMUTABLE AS $fn$
BEGIN
    s.counter := v;
    s.last := write_counter.last;
    s.kept_until := holdfast.keep(s, v);
    RETURN s;
END
$fn$;
