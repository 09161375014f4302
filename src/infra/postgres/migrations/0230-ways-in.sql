-- Further ways in: passkeys, accounts at an identity provider, and mail to somebody who has forgotten the password.

-- Null: whoever has the account signs in by another way.
alter table accounts alter column password_hash drop not null;

alter table sessions
  -- When somebody last showed in it, by a password or a passkey, that they are who has the account.
  add column proved_at timestamptz(3),
  -- The account at the identity provider that it was begun with.
  add column identity_id ulid;

create table passkeys (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  name text not null,
  -- As the browser names it, in base64url.
  credential_id text not null unique,
  public_key bytea not null,
  -- How often the authenticator says that it was used; 0 for ever where it does not count.
  counter bigint not null,
  transports text[] not null,
  -- The host name that it was made for.
  rp_id text not null,
  -- Kept by a password manager that brings it to other devices too.
  synced boolean not null,
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp()
);
create index passkeys_account on passkeys (account_id, id desc);

-- What somebody must bring back who is about to sign in: by its hash, once, and not for long.
create table sign_in_challenges (
  hash bytea primary key,
  purpose text not null,
  -- Null: who it is will be seen.
  account_id ulid references accounts on delete cascade,
  -- What is needed then, sealed under the hash.
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
