-- What is known of how an endpoint does stands under its connection: another address or key is another connection, and
-- nothing that was learnt of the one before holds of it.
alter table provider_endpoints add column connection ulid;
update provider_endpoints set connection = id;
alter table provider_endpoints alter column connection set not null;
create index provider_endpoints_connection on provider_endpoints (connection);

-- No key to provider_endpoints: the connections of the environment's providers and of engines that were found are here too.
create table provider_connections (
  id ulid primary key,
  status text not null check (status in ('untested', 'working', 'failing')),
  -- Why it has this status, as a word; null: nothing stands against it.
  reason text,
  -- The reason was seen in a call, and not in a test.
  seen_in_call boolean not null default false,
  last_error text,
  last_error_kind text,
  last_error_at timestamptz(3),
  last_success_at timestamptz(3),
  latency_ms int,
  -- As the provider listed them when it was tested last.
  models_count int,
  -- Tests that failed, in a row.
  failures int not null default 0,
  -- When it is to be tested again; null: nothing calls for it.
  next_test_at timestamptz(3),
  -- When what the status says was seen, by the clock of who saw it: the newest word holds.
  observed_at timestamptz(3) not null default now(),
  -- By the clock of the database, for processes that read what is new.
  changed_at timestamptz(3) not null default clock_timestamp()
);
create index provider_connections_due on provider_connections (next_test_at) where next_test_at is not null;
create index provider_connections_changed on provider_connections (changed_at);
