-- Where models are served: by an account's own providers, a workspace's, or the instance's.
-- Keys and header values are sealed under the row's id; nothing here can be called without the root key.
create table provider_endpoints (
  id ulid primary key,
  account_id ulid references accounts on delete cascade,
  workspace_id ulid references workspaces on delete cascade,
  -- The account, the workspace, or 26 zeros for the instance: within it a slug is there once.
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
  -- What its owner knows of what becomes of prompts at its provider; null: not known.
  data_policy jsonb not null default '{"keeps": null, "trains": null}',
  created_by ulid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- What is known of its health has this ID: a new address or key makes a new connection.
  connection ulid not null default '0' || upper(left(replace(gen_random_uuid()::text, '-', ''), 25)),
  check (account_id is null or workspace_id is null),
  unique (owner_id, slug)
);
create index provider_endpoints_connection on provider_endpoints (connection);
create index provider_endpoints_owner on provider_endpoints (owner_id, id desc);

-- Snapshots of the public catalogue that the operator fetched: the newest is what serves, the shipped one where there is none.
create table catalogues (
  id ulid primary key,
  source_url text not null,
  sha256 text not null,
  models_count int not null,
  priced_count int not null,
  -- What changed against the one before: counts of added, removed and repriced models.
  changes jsonb not null,
  snapshot text not null,
  created_by ulid,
  created_at timestamptz(3) not null default now()
);

-- The operator's own word on a model of the instance's catalogue, above every snapshot.
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

-- Items of translated answers, which their account may name again within a day instead of sending them once more.
create table kept_items (
  id text collate "C" primary key,
  account_id ulid not null references accounts on delete cascade,
  -- The workspace of the key that was answered: a key of one workspace names what was said there alone.
  held_to ulid references workspaces on delete cascade,
  -- Under the item's own id.
  sealed text not null,
  bytes integer not null,
  created_at timestamptz(3) not null default now()
);
create index on kept_items (account_id, created_at);
create index on kept_items (created_at);

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

-- What was learnt of an endpoint at an address, with a key, goes when it is given another, and with the endpoint.
create function forget_connection() returns trigger language plpgsql set search_path from current as $$
begin
  delete from provider_connections where id = old.connection;
  return null;
end $$;
create trigger provider_endpoints_replaced after update of connection on provider_endpoints
  for each row when (old.connection is distinct from new.connection) execute function forget_connection();
create trigger provider_endpoints_deleted after delete on provider_endpoints
  for each row execute function forget_connection();

-- Models of a provider connection whose last call was refused for good: a bad key, an empty account, an unknown model.
create table refused_models (
  connection char(26) not null,
  model text not null,
  -- Null: it has answered since.
  kind text,
  changed_at timestamptz not null default clock_timestamp(),
  primary key (connection, model)
);
create index refused_models_changed on refused_models (changed_at);
