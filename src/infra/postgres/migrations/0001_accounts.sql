-- Accounts, their credentials and their identities.
-- IDs are ULIDs in char(26) with the C collation, so they sort by time. Comparing one with text can't use an index:
-- parameters are `ulid` or `bpchar`.

create extension if not exists pg_trgm;

create domain ulid as char(26) collate "C";

create table accounts (
  id ulid primary key,
  email text not null,
  email_verified_at timestamptz(3),
  name text not null,
  -- Null: the account signs in another way.
  password_hash text,
  tier text not null default 'standard' check (tier in ('standard', 'unlimited')),
  administrator boolean not null default false,
  personal_workspace_id ulid not null,
  settings jsonb not null default '{}',
  -- Sign-up credits, granted when the email address is verified.
  promised_nano bigint,
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
  created_at timestamptz(3) not null default now(),
  -- When the user last proved their identity in this session, with a password or a passkey.
  proved_at timestamptz(3),
  -- The identity-provider account that the session was started with.
  identity_id ulid
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
  -- After a rotation with overlap: the previous key.
  previous_hash bytea unique,
  previous_expires_at timestamptz(3),
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  spend_cap_nano bigint,
  spend_cap_period text not null default 'total' check (spend_cap_period in ('day', 'week', 'month', 'total')),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- Null: all models.
  allowed_models text[]
);
create index api_keys_account on api_keys (account_id, id desc);

-- Accounts whose permissions changed. Processes read from the oldest transaction they haven't seen finish.
create table rights_changes (
  account_id ulid not null,
  xid xid8 not null default pg_current_xact_id(),
  at timestamptz not null default now()
);
create index rights_changes_xid on rights_changes (xid);

-- Used consents from /mcp: each allows one call. Kept until the consent would have expired.
create table consents_used (
  id ulid primary key,
  expires_at timestamptz(3) not null
);
create index consents_used_expiry on consents_used (expires_at);

create table passkeys (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  name text not null,
  -- base64url, from the browser.
  credential_id text not null unique,
  public_key bytea not null,
  -- The authenticator's use counter; always 0 if it doesn't count.
  counter bigint not null,
  transports text[] not null,
  -- The host name it was created for.
  rp_id text not null,
  -- Stored by a password manager that syncs it to other devices.
  synced boolean not null,
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp()
);
create index passkeys_account on passkeys (account_id, id desc);

-- One-time challenges of sign-ins in progress, by hash.
create table sign_in_challenges (
  hash bytea primary key,
  purpose text not null,
  -- Null: the sign-in will identify the account.
  account_id ulid references accounts on delete cascade,
  -- State of the sign-in, sealed under the hash.
  sealed text,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default clock_timestamp()
);
create index sign_in_challenges_expiry on sign_in_challenges (expires_at);
create index sign_in_challenges_account on sign_in_challenges (account_id, purpose);

create table identities (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  issuer text not null,
  subject text not null,
  email text,
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp(),
  unique (issuer, subject)
);
create index identities_account on identities (account_id, id desc);
