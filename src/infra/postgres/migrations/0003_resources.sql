-- The register of resources, who else they are shared with, and the audit of who changed rights.

-- One row per thing that can be put away: one access look-up, one trash, one retention job.
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

-- Lists page through this index. Its ids sort by another operator than those of the primary key (the same order): so the
-- planner cannot walk the primary key in hope of soon meeting enough rows of an old, quiet workspace.
create index resources_list on resources (workspace_id, kind, status, id bpchar_pattern_ops desc);
create index resources_trash on resources (trashed_at) where status = 'trashed';

-- What somebody outside of a workspace may see or change of what is in it. A share of a folder covers what lies in it.
create table shares (
  id ulid primary key,
  resource_id ulid not null references resources on delete cascade,
  resource_type text not null check (resource_type in ('chat', 'agent', 'file', 'folder')),
  -- Whom it is for: an account, all of a workspace, or whoever an address belongs to.
  account_id ulid references accounts on delete cascade,
  workspace_id ulid references workspaces on delete cascade,
  email text,
  access text not null check (access in ('view', 'edit')),
  -- Of what was granted to an address: who presents the token takes it for their account.
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

-- The shares that an account has, itself and by the given workspaces of it. An address counts once it is verified, or
-- for the account that presented its token.
create function shares_of(account ulid, workspaces ulid[]) returns setof shares language sql stable as $$
  select * from shares where account_id = account
  union all select * from shares where claimed_by = account
  union all select * from shares where workspace_id = any(workspaces)
  union all select s.* from accounts a join shares s on lower(s.email) = lower(a.email) and s.claimed_by is null
    where a.id = account and a.email_verified_at is not null
$$;

-- Who changed rights, and what was removed. Stays when a workspace goes.
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
  -- How: the way in, the key, the run and the automation.
  actor jsonb
);
create index audit_workspace on audit (workspace_id, id desc);

create index audit_at on audit (id desc);
