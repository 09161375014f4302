-- Documents that took more time or memory to read than one may, by their bytes: nobody tries them again for a while.
create table slow_documents (
  sha256 char(64) collate "C" not null,
  kind text not null,
  -- which reader tried: a better one tries again
  reader int not null,
  reason text not null,
  at timestamptz not null,
  primary key (sha256, kind)
);
create index slow_documents_at on slow_documents (at);
-- The reader that looked last at what is known of the text of bytes.
alter table contents add column reader int not null default 0;
