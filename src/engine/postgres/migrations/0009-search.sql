-- What is known of the text of bytes, once for all files that hold them. A row comes with its blob and goes with it.
create table contents (
  sha256 char(64) collate "C" primary key references blobs on delete cascade,
  -- null until it was looked at
  indexed_at timestamptz,
  -- the bytes are UTF-8 text as they are: lines are searched in them
  plain boolean not null default false,
  -- why there is no text: binary, too_large, damaged, encrypted, too_slow
  reason text,
  -- the text of a document, or of text in another encoding: searched where the bytes are not plain
  text text,
  title text,
  -- trigrams of what is searched, letters in lower case; null narrows nothing
  grams int4[],
  attempts int not null default 0
);
create index contents_grams on contents using gin (grams);
create index contents_unnarrowed on contents (sha256) where grams is null;
create index contents_waiting on contents (sha256) where indexed_at is null;
insert into contents (sha256) select sha256 from blobs;

create function expect_content() returns trigger language plpgsql as $$
begin
  insert into contents (sha256) select sha256 from come on conflict do nothing;
  return null;
end $$;
create trigger blobs_come after insert on blobs referencing new table as come
  for each statement execute function expect_content();

-- Finds go through the drive in the order of paths. A path can be longer than an entry of an index.
create index files_in_order on files (left(path, 400) collate "C", id) where not trashed;
