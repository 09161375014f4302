-- The register of resources, their shares, and the audit log.

-- One row per resource that can be archived or trashed: one permission look-up, one trash, one retention job.
create table resources (
  id ulid primary key,
  kind text not null,
  workspace_id ulid not null references workspaces on delete cascade,
  status text not null default 'active' check (status in ('active', 'archived', 'trashed')),
  trashed_from text,
  trashed_at timestamptz(3),
  trashed_by ulid,
  archived_at timestamptz(3),
  created_by ulid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

-- Lists page through this index. Its operator class differs from the primary key's (same order), so the planner can't
-- walk the primary key hoping to find enough rows of an old, quiet workspace soon.
create index resources_list on resources (workspace_id, kind, status, id bpchar_pattern_ops desc);
create index resources_trash on resources (trashed_at) where status = 'trashed';

-- Access for accounts outside the workspace. Sharing a folder shares its contents.
create table shares (
  id ulid primary key,
  resource_id ulid not null references resources on delete cascade,
  resource_type text not null check (resource_type in ('chat', 'agent', 'file', 'folder')),
  -- Exactly one recipient: an account, a workspace, or an email address.
  account_id ulid references accounts on delete cascade,
  workspace_id ulid references workspaces on delete cascade,
  email text,
  access text not null check (access in ('view', 'edit')),
  -- For an email share: the account that presents the token claims it.
  token_hash bytea unique,
  claimed_by ulid references accounts on delete cascade,
  claimed_at timestamptz(3),
  created_by ulid references accounts on delete set null,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp(),
  mail_token_hash bytea unique,
  check (num_nonnulls(account_id, workspace_id, email) = 1)
);
create unique index shares_once on shares (resource_id, coalesce(account_id, workspace_id, lower(email)));
create index shares_account on shares (account_id, id desc) where account_id is not null;
create index shares_claimed on shares (claimed_by, id desc) where claimed_by is not null;
create index shares_workspace on shares (workspace_id, id desc) where workspace_id is not null;
create index shares_given on shares (created_by, id desc);
create index shares_email on shares (lower(email), id desc) where email is not null;

-- Shares of an account, including those of its workspaces. An email share counts when the address is verified, or for
-- the account that claimed it.
create function shares_of(account ulid, workspaces ulid[]) returns setof shares language sql stable as $$
  select * from shares where account_id = account
  union all select * from shares where claimed_by = account
  union all select * from shares where workspace_id = any(workspaces)
  union all select s.* from accounts a join shares s on lower(s.email) = lower(a.email) and s.claimed_by is null
    where a.id = account and a.email_verified_at is not null
$$;

-- Permission changes and deletions. Rows outlive their workspace.
create table audit (
  id ulid primary key,
  at timestamptz(3) not null default clock_timestamp(),
  account_id ulid,
  workspace_id ulid,
  action text not null,
  subject_type text,
  subject_id text,
  details jsonb not null default '{}',
  request_id text,
  -- The interface, key, run and automation.
  actor jsonb
);
create index audit_workspace on audit (workspace_id, id desc);

create index audit_at on audit (id desc);
