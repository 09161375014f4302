-- Events, from the transaction that writes them to their readers.

-- Written in the transaction of the change. The relay reads only below the oldest running transaction, so it never
-- skips an event that commits out of order.
create table outbox (
  seq bigint generated always as identity primary key,
  xid xid8 not null default pg_current_xact_id(),
  id ulid not null,
  type text not null,
  channels text[] not null,
  resource_type text,
  resource_id text,
  actor jsonb,
  data jsonb not null,
  at timestamptz(3) not null default clock_timestamp()
);

-- The relay's output: one gap-free order per channel.
create table channels (
  name text primary key,
  epoch ulid not null,
  "offset" bigint not null default 0,
  -- The newest change that retention removed, and the time of the newest change.
  gone_seq bigint not null default 0,
  touched_at timestamptz not null default now()
);
create index channels_touched on channels (touched_at);

create table changes (
  channel text not null,
  "offset" bigint not null,
  event_id ulid not null,
  type text not null,
  resource_type text,
  resource_id text,
  data jsonb not null,
  at timestamptz(3) not null,
  -- One order over all channels. Relays write one at a time, so changes become visible in this order, and one number is
  -- a reader's position in every channel.
  seq bigint generated always as identity
);
create index changes_at on changes (at);
create unique index changes_seq on changes (seq);
create unique index changes_channel on changes (channel, seq);

-- Outbox events that an in-process consumer hasn't handled yet.
create table deliveries (
  consumer text not null,
  seq bigint not null,
  event jsonb not null,
  attempts int not null default 0,
  due_at timestamptz not null default now(),
  primary key (consumer, seq)
);

-- Clients renew their presence every few seconds, so it needs no log and may be empty after a crash.
create unlogged table presence (
  id ulid primary key,
  channel text not null,
  user_id ulid not null,
  data jsonb,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create unique index presence_who on presence (channel, user_id);
create index presence_expires on presence (expires_at);
