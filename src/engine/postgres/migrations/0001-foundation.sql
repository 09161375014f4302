-- Accounts, credentials, workspaces, the register of resources, events, operations, processes.
-- Ids are ULIDs in char(26) with the C collation: they sort by time, byte by byte.

create extension if not exists pg_trgm;

create domain ulid as char(26) collate "C";

create table accounts (
  id ulid primary key,
  email text not null,
  email_verified_at timestamptz(3),
  name text not null,
  password_hash text not null,
  tier text not null default 'standard' check (tier in ('standard', 'unlimited')),
  administrator boolean not null default false,
  personal_workspace_id ulid not null,
  settings jsonb not null default '{}',
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create unique index accounts_email on accounts (lower(email));

create table sessions (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  token_hash bytea not null unique,
  user_agent text,
  ip text,
  last_used_at timestamptz(3),
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now()
);
create index sessions_account on sessions (account_id, id desc);

create table login_failures (
  subject text primary key,
  tokens double precision not null,
  at timestamptz not null default now()
);

create table api_keys (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  workspace_id ulid,
  name text not null,
  scopes text[] not null,
  version text not null,
  key_hash bytea not null unique,
  prefix text not null,
  last4 text not null,
  -- after a rotation with overlap, the key before it
  previous_hash bytea unique,
  previous_expires_at timestamptz(3),
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  spend_cap_nano bigint,
  spend_cap_period text not null default 'total' check (spend_cap_period in ('day', 'week', 'month', 'total')),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index api_keys_account on api_keys (account_id, id desc);

create table workspaces (
  id ulid primary key,
  name text not null,
  description text,
  kind text not null check (kind in ('personal', 'team')),
  status text not null default 'active' check (status in ('active', 'archived')),
  archived_at timestamptz(3),
  created_by ulid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
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
  expires_at timestamptz(3) not null,
  accepted_by ulid,
  accepted_at timestamptz(3),
  revoked_at timestamptz(3),
  created_by ulid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index invitations_workspace on invitations (workspace_id, id desc);

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
create index resources_list on resources (workspace_id, kind, status, id desc);
create index resources_trash on resources (trashed_at) where status = 'trashed';

-- Events, written in the transaction of the change they tell of. The relay reads only below the oldest running
-- transaction, so none is overlooked that commits out of order.
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
create index outbox_xid on outbox (xid, seq);

-- What the relay made of them: one gap-free order per channel.
create table channels (
  name text primary key,
  epoch ulid not null,
  "offset" bigint not null default 0
);
create table changes (
  channel text not null,
  "offset" bigint not null,
  event_id ulid not null,
  type text not null,
  resource_type text,
  resource_id text,
  data jsonb not null,
  at timestamptz(3) not null,
  primary key (channel, "offset")
);
create index changes_at on changes (at);

create table leases (
  name text primary key,
  holder ulid not null,
  fence bigint not null default 1,
  expires_at timestamptz not null
);

-- Server processes that are alive: who holds reservations and runs, and by how many a limit is divided.
create table processes (
  id ulid primary key,
  started_at timestamptz not null default now(),
  expires_at timestamptz not null
);

-- Accounts whose rights changed. Processes read what is at or above the oldest transaction they had not seen the end of.
create table rights_changes (
  account_id ulid not null,
  xid xid8 not null default pg_current_xact_id(),
  at timestamptz not null default now()
);
create index rights_changes_xid on rights_changes (xid);

create table operations (
  id ulid primary key,
  account_id ulid not null,
  workspace_id ulid,
  key_id ulid,
  kind text not null,
  status text not null default 'queued' check (status in ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired')),
  progress double precision,
  input jsonb not null default '{}',
  result jsonb,
  error jsonb,
  resource_type text,
  resource_id text,
  content_type text,
  content text,
  content_file_id ulid,
  content_expires_at timestamptz(3),
  cost_nano bigint,
  scopes text[],
  cancel_requested_at timestamptz(3),
  started_at timestamptz(3),
  completed_at timestamptz(3),
  expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index operations_account on operations (account_id, id desc);
create index operations_open on operations (status) where status in ('queued', 'running');

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
  request_id text
);
create index audit_workspace on audit (workspace_id, id desc);

-- Values of the instance that must not differ between its processes.
create table instance (
  name text primary key,
  value jsonb not null
);
