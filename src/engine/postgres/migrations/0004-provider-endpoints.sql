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
  created_by ulid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check (account_id is null or workspace_id is null),
  unique (owner_id, slug)
);
create index provider_endpoints_owner on provider_endpoints (owner_id, id desc);
