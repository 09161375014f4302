-- Provider endpoints of accounts, workspaces and the instance.
-- Keys and header values are sealed under the row's ID; without the root key, nothing here can be called.
create table provider_endpoints (
  id ulid primary key,
  account_id ulid references accounts on delete cascade,
  workspace_id ulid references workspaces on delete cascade,
  -- The account, the workspace, or 26 zeros for the instance. Slugs are unique per owner.
  owner_id ulid not null check (owner_id = coalesce(workspace_id, account_id, '00000000000000000000000000')),
  slug text not null,
  name text not null,
  preset text,
  shape text not null,
  base_url text not null,
  sealed_key text,
  api_key_last4 text,
  sealed_headers text,
  header_names text[] not null default '{}',
  models jsonb not null default '[]',
  enabled boolean not null default true,
  priority int not null default 0,
  weight double precision not null default 1,
  -- The provider's use of prompts, as stated by the owner. Null: unknown.
  data_policy jsonb not null default '{"keeps": null, "trains": null}',
  created_by ulid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- The ID of its health in provider_connections. A new address or key makes a new connection.
  connection ulid not null default '0' || upper(left(replace(gen_random_uuid()::text, '-', ''), 25)),
  check (account_id is null or workspace_id is null),
  unique (owner_id, slug)
);
create index provider_endpoints_connection on provider_endpoints (connection);
create index provider_endpoints_owner on provider_endpoints (owner_id, id desc);

-- Snapshots of the public catalog. The newest one is active; if there is none, the bundled one.
create table catalogues (
  id ulid primary key,
  source_url text not null,
  sha256 text not null,
  models_count int not null,
  priced_count int not null,
  -- Counts of added, removed and repriced models compared with the previous snapshot.
  changes jsonb not null,
  snapshot text not null,
  created_by ulid,
  created_at timestamptz(3) not null default now()
);

-- The operator's corrections to models of the catalog, applied over every snapshot.
create table model_overrides (
  slug text primary key,
  pricing jsonb,
  context_length int,
  max_output_tokens int,
  note text not null default '',
  created_by ulid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

-- Items of translated responses. Their account can refer to them by ID for a day.
create table kept_items (
  id text collate "C" primary key,
  account_id ulid not null references accounts on delete cascade,
  -- The workspace of the calling key: a key limited to a workspace sees only that workspace's items.
  held_to ulid references workspaces on delete cascade,
  -- Sealed under the item's ID.
  sealed text not null,
  bytes integer not null,
  created_at timestamptz(3) not null default now()
);
create index on kept_items (account_id, created_at);
create index on kept_items (created_at);

-- The health of connections. No foreign key: providers from the environment and discovered engines are here too.
create table provider_connections (
  id ulid primary key,
  status text not null check (status in ('untested', 'working', 'failing')),
  -- The reason for the status, as a code.
  reason text,
  -- The reason came from a call, not a test.
  seen_in_call boolean not null default false,
  last_error text,
  last_error_kind text,
  last_error_at timestamptz(3),
  last_success_at timestamptz(3),
  latency_ms int,
  -- Number of models the provider listed in the last test.
  models_count int,
  -- Consecutive failed tests.
  failures int not null default 0,
  -- When to test again. Null: no test needed.
  next_test_at timestamptz(3),
  -- When the status was observed, by the observer's clock: the newest observation wins.
  observed_at timestamptz(3) not null default now(),
  -- By the database's clock, for processes that read changes.
  changed_at timestamptz(3) not null default clock_timestamp()
);
create index provider_connections_due on provider_connections (next_test_at) where next_test_at is not null;
create index provider_connections_changed on provider_connections (changed_at);

-- Health is deleted when the endpoint gets a new address or key, and with the endpoint.
create function forget_connection() returns trigger language plpgsql set search_path from current as $$
begin
  delete from provider_connections where id = old.connection;
  return null;
end $$;
create trigger provider_endpoints_replaced after update of connection on provider_endpoints
  for each row when (old.connection is distinct from new.connection) execute function forget_connection();
create trigger provider_endpoints_deleted after delete on provider_endpoints
  for each row execute function forget_connection();

-- Models whose last call failed for a lasting reason: a bad key, an empty account, an unknown model.
create table refused_models (
  connection char(26) not null,
  model text not null,
  -- Null: it has answered since.
  kind text,
  changed_at timestamptz not null default clock_timestamp(),
  primary key (connection, model)
);
create index refused_models_changed on refused_models (changed_at);
