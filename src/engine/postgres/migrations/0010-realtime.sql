-- Changes get one order over all channels beside the one of each: relays write one after the other, so in the order of
-- `seq` they become visible, and one number is the position of a reader in every channel.
alter table changes add column seq bigint generated always as identity;
alter table changes drop constraint changes_pkey;
create unique index changes_seq on changes (seq);
create unique index changes_channel on changes (channel, seq);

-- The newest change that retention took from the channel, and when the channel had its last one.
alter table channels add column gone_seq bigint not null default 0;
alter table channels add column touched_at timestamptz not null default now();
create index channels_touched on channels (touched_at);

-- Who is there, told again every few seconds: not worth a log, and empty after a crash as it should be.
create unlogged table presence (
  id ulid primary key,
  channel text not null,
  user_id ulid not null,
  data jsonb,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create unique index presence_who on presence (channel, user_id);
create index presence_expires on presence (expires_at);
