-- Money: whole nano-dollars (10^-9 USD). One append-only ledger, what is left and what is held, and the record of calls.
-- The functions that write here stand in engine/ledger/sql.

create table balances (
  account_id ulid primary key,
  -- What can still be reserved: reservations are already taken off.
  nano bigint not null default 0
) with (fillfactor = 50);

-- What a subject (a key, a goal, a chat, a workspace) spent in a period, and what is reserved under its caps there.
create table spends (
  subject ulid not null,
  period text collate "C" not null,
  nano bigint not null default 0,
  held bigint not null default 0,
  primary key (subject, period)
) with (fillfactor = 50);

create table reservations (
  call_id ulid primary key,
  process_id ulid not null,
  account_id ulid not null,
  nano bigint not null,
  -- Whether it was taken off the balance: not for the unlimited tier, nor on the caller's own provider key.
  drawn boolean not null,
  subjects text[] not null,
  periods text[] not null,
  -- What a crash settles it on once it was sent: the bound of the input and what was received.
  estimate bigint not null default 0,
  sent_at timestamptz,
  -- What settle_calls has to know of the call beside its outcome.
  call jsonb not null,
  -- When the call began. Null in the oldest rows: it stands in `call`.
  started_at timestamptz,
  at timestamptz not null default clock_timestamp(),
  -- A job at a vendor: another process reads what became of it.
  outlives_process boolean not null default false
  -- Rows live for as long as a call: their place is to be used again before it is a gigabyte.
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

create table ledger (
  seq bigint generated always as identity primary key,
  at timestamptz(3) not null default clock_timestamp(),
  account_id ulid not null,
  kind text not null check (kind in ('grant', 'reserve', 'settle', 'release', 'refund', 'overrun')),
  -- The amount of the line, and what it did to the balance: the changes of an account sum up to its balance.
  nano bigint not null,
  change bigint not null,
  call_id ulid,
  note text,
  by_account ulid
);
-- For who looks into the books: lines come in the order of their calls, near enough for ranges of pages to find them.
create index ledger_call on ledger using brin (call_id) with (autosummarize = on);

create function ledger_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the ledger is append-only';
end $$;
create trigger ledger_append_only before update or delete or truncate on ledger
  for each statement execute function ledger_is_append_only();

-- One row per metered call of a model. Token buckets are disjoint.
create table calls (
  id ulid primary key,
  account_id ulid not null,
  workspace_id ulid not null,
  key_id ulid,
  chat_id ulid,
  run_id ulid,
  message_id ulid,
  surface text not null,
  model text not null,
  provider text not null,
  endpoint_id ulid,
  billing text not null,
  status text not null,
  day date not null,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_5m_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  images bigint not null,
  audio_seconds double precision not null,
  requests bigint not null,
  total_tokens bigint not null,
  -- What counts for the caller; null where the model has no price.
  cost_nano bigint,
  -- The part of it that was taken off the balance.
  charged_nano bigint not null,
  -- What the provider took above the reserve, borne by the instance.
  overrun_nano bigint not null,
  -- The part of what was charged that was given back.
  refunded_nano bigint not null default 0,
  cost_source text,
  finish_reason text,
  first_token_ms int,
  duration_ms int not null,
  streamed boolean not null,
  created_at timestamptz(3) not null,
  characters bigint not null default 0,
  video_seconds double precision not null default 0,
  -- Facts for the request log, where the first provider answered without losses. Other requests have a row in request_log.
  path text,
  asked_model text,
  request_bytes int,
  -- Why this provider was chosen. Null: the call belongs to no request.
  why text
);
-- Newest first is read backwards: what is added at the end of an index splits no half-full pages. A day of calls goes by
-- their ids, which sort by time.
create index calls_account on calls (account_id, id);
create index calls_workspace on calls (workspace_id, id);
create index calls_key on calls (key_id, id) where key_id is not null;
create index calls_chat on calls (chat_id, id) where chat_id is not null;
create index calls_run on calls (run_id) where run_id is not null;
create index calls_message on calls (message_id) where message_id is not null;

-- The last calls of a model that speaks, for its speed.
create index calls_spoken on calls (endpoint_id, model, id) where characters > 0;

-- What the calls of a UTC day sum up to, kept by settle_calls: as exact as the calls, and as small as what tells them apart.
create table usage_days (
  account_id ulid not null,
  day date not null,
  workspace_id ulid not null,
  key_id ulid,
  surface text not null,
  model text not null,
  provider text not null,
  billing text not null,
  calls bigint not null,
  failed bigint not null,
  cancelled bigint not null,
  -- Calls of models that have no price: they are not in cost_nano.
  unpriced bigint not null,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_5m_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  images bigint not null,
  audio_seconds double precision not null,
  requests bigint not null,
  total_tokens bigint not null,
  cost_nano bigint not null,
  charged_nano bigint not null,
  refunded_nano bigint not null default 0,
  overrun_nano bigint not null,
  -- Sums over the calls that had a first token, and how many those are.
  first_token_ms bigint not null,
  first_token_calls bigint not null,
  duration_ms bigint not null,
  characters bigint not null default 0,
  video_seconds double precision not null default 0
) with (fillfactor = 50);
create unique index usage_days_one on usage_days (account_id, day, workspace_id, key_id, surface, model, provider, billing)
  nulls not distinct;
create index usage_days_workspace on usage_days (workspace_id, day);

-- Somebody who has nothing left asks the administrator for credits.
create table credit_requests (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  -- Null: as the administrator sees fit.
  amount_nano bigint check (amount_nano > 0),
  note text not null default '',
  status text not null default 'pending' check (status in ('pending', 'granted', 'refused')),
  granted_nano bigint,
  answer text,
  answered_by ulid references accounts on delete set null,
  answered_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp()
);
-- One at a time.
create unique index credit_requests_open on credit_requests (account_id) where status = 'pending';
create index credit_requests_account on credit_requests (account_id, id desc);

-- What became of a request to a model: what was asked, who was tried, and how it ended. Never what was said in it. Its id
-- is the `x-request-id`, and of whoever was tried first the call's in `calls`, which has usage and cost.
create table request_log (
  id ulid primary key,
  account_id ulid not null,
  workspace_id ulid not null,
  key_id ulid,
  chat_id ulid,
  run_id ulid,
  surface text not null,
  -- Null: it was asked for by this server, as a run does.
  path text,
  asked_model text,
  request_bytes int,
  streamed boolean not null,
  -- Who answered, or was asked last; null: nobody was asked.
  model text,
  provider text,
  status text not null check (status in ('succeeded', 'failed', 'cancelled')),
  http_status int,
  error_code text,
  error_message text,
  losses text[] not null,
  -- In their order: {call_id, provider, model, why, outcome, status, message, duration_ms}.
  tried jsonb not null,
  duration_ms int not null,
  created_at timestamptz(3) not null
);
create index request_log_account on request_log (account_id, id);
create index request_log_workspace on request_log (workspace_id, id);
