-- Workspaces, members and invitations.

create table workspaces (
  id ulid primary key,
  name text not null,
  description text,
  kind text not null check (kind in ('personal', 'team')),
  status text not null default 'active' check (status in ('active', 'archived')),
  archived_at timestamptz(3),
  -- The budget.
  spend_cap_nano bigint,
  spend_cap_period text not null default 'month' check (spend_cap_period in ('day', 'week', 'month', 'total')),
  created_by ulid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- `workspace`: members can use this workspace's models only with keys limited to it.
  keys text not null default 'any' check (keys in ('any', 'workspace')),
  -- Null: all models.
  allowed_models text[]
);

create table members (
  id ulid primary key,
  workspace_id ulid not null references workspaces on delete cascade,
  account_id ulid not null references accounts on delete cascade,
  role text not null check (role in ('viewer', 'member', 'admin', 'owner')),
  permissions text[],
  created_by ulid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- The member's budget for model calls in this workspace.
  spend_cap_nano bigint check (spend_cap_nano >= 0),
  spend_cap_period text not null default 'month' check (spend_cap_period in ('day', 'week', 'month', 'total')),
  keys text not null default 'any' check (keys in ('any', 'workspace')),
  allowed_models text[],
  unique (workspace_id, account_id)
);
create index members_account on members (account_id);

create table invitations (
  id ulid primary key,
  workspace_id ulid not null references workspaces on delete cascade,
  email text not null,
  role text not null check (role in ('viewer', 'member', 'admin', 'owner')),
  permissions text[],
  status text not null default 'pending' check (status in ('pending', 'accepted', 'revoked')),
  token_hash bytea not null unique,
  -- For servers of the previous version only.
  mailed boolean not null default false,
  expires_at timestamptz(3) not null,
  accepted_by ulid,
  accepted_at timestamptz(3),
  revoked_at timestamptz(3),
  created_by ulid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- The token in the email. Presenting it proves ownership of the address; `token_hash` is the token of the copied link.
  mail_token_hash bytea unique,
  spend_cap_nano bigint check (spend_cap_nano >= 0),
  spend_cap_period text not null default 'month' check (spend_cap_period in ('day', 'week', 'month', 'total'))
);
create index invitations_workspace on invitations (workspace_id, id desc);
create index invitations_email on invitations (lower(email)) where status = 'pending';
