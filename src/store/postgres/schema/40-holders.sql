
-- ---- Holders ---------------------------------------------------------------

CREATE OR REPLACE FUNCTION holdfast.admits(s holdfast.state, mode text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $fn$
BEGIN
    RETURN s.owner IS NULL OR (s.sharers > 0 AND mode = 's' || s.terms);
END
$fn$;

-- The counter at which `who` has the name; NULL if it does not.
CREATE OR REPLACE FUNCTION holdfast.vote(s holdfast.state, who bytea)
RETURNS bigint
LANGUAGE plpgsql STABLE AS $fn$
BEGIN
    IF s.sharers = 0 THEN
        RETURN CASE WHEN s.owner = who THEN s.counter END;
    END IF;
    RETURN (SELECT h.counter FROM holdfast.sharer h
        WHERE h.name = s.name AND h.owner = who AND h.until > s.now);
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.longest(s holdfast.state) RETURNS bigint
LANGUAGE plpgsql STABLE AS $fn$
BEGIN
    RETURN (SELECT max(h.until) FROM holdfast.sharer h WHERE h.name = s.name);
END
$fn$;

-- Nothing makes a lease shorter. Rule: shortened-expiry.
CREATE OR REPLACE FUNCTION holdfast.stay(s holdfast.state, who bytea,
    ttl_ms bigint)
RETURNS holdfast.state
LANGUAGE plpgsql AS $fn$
BEGIN
    IF s.sharers = 0 THEN
        s.until := greatest(s.until, s.now + ttl_ms);
        RETURN s;
    END IF;
    UPDATE holdfast.sharer h SET until = s.now + ttl_ms
        WHERE h.name = s.name AND h.owner = who AND h.until < s.now + ttl_ms;
    IF FOUND THEN
        s.until := holdfast.longest(s);
    END IF;
    RETURN s;
END
$fn$;

CREATE OR REPLACE FUNCTION holdfast.clear(s holdfast.state)
RETURNS holdfast.state
LANGUAGE plpgsql AS $fn$
BEGIN
    IF s.terms >= 0 THEN
        DELETE FROM holdfast.sharer h WHERE h.name = s.name;
    END IF;
    s.owner := NULL;
    s.terms := -1;
    s.sharers := 0;
    RETURN s;
END
$fn$;

-- End the hold of `who`, an owner or a sharer.
CREATE OR REPLACE FUNCTION holdfast.part(s holdfast.state, who bytea)
RETURNS holdfast.state
LANGUAGE plpgsql AS $fn$
BEGIN
    IF s.sharers < 2 THEN
        RETURN holdfast.clear(s);
    END IF;
    DELETE FROM holdfast.sharer h WHERE h.name = s.name AND h.owner = who;
    s.sharers := s.sharers - 1;
    s.until := holdfast.longest(s);
    RETURN s;
END
$fn$;

-- Make `who` an owner at counter v, above the present one. The caller has
-- checked admits().
CREATE OR REPLACE FUNCTION holdfast.install(s holdfast.state, who bytea,
    mode text, ttl_ms bigint, v bigint)
RETURNS holdfast.state
LANGUAGE plpgsql AS $fn$
BEGIN
    s.grants := s.grants + 1;
    IF mode = 'x' THEN
        s.owner := who;
        s.until := s.now + ttl_ms;
        s.terms := -1;
        s.sharers := 0;
        RETURN holdfast.write_counter(s, v, who);
    END IF;
    IF s.sharers = 0 THEN
        s.terms := substr(mode, 2)::integer;
        s.owner := convert_to('shared:' || s.terms || '-' || v, 'UTF8');
        DELETE FROM holdfast.sharer h WHERE h.name = s.name;
    ELSE
        DELETE FROM holdfast.sharer h
            WHERE h.name = s.name AND h.until <= s.now;
    END IF;
    INSERT INTO holdfast.sharer (name, owner, until, counter)
        VALUES (s.name, who, s.now + ttl_ms, v)
        ON CONFLICT (name, owner)
            DO UPDATE SET until = s.now + ttl_ms, counter = v;
    s.sharers := s.sharers + 1;
    s.until := holdfast.longest(s);
    -- Rule: reader-keeps-counter.
    RETURN holdfast.write_counter(s, v, s.owner);
END
$fn$;
