-- Items of translated answers, which their account may name again within a day instead of sending them once more.
create table kept_items (
  id text collate "C" primary key,
  account_id ulid not null references accounts on delete cascade,
  -- Under the item's own id.
  sealed text not null,
  bytes integer not null,
  created_at timestamptz(3) not null default now()
);
create index on kept_items (account_id, created_at);
create index on kept_items (created_at);
