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
  check (account_id is null or workspace_id is null),
  unique (owner_id, slug)
);
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
