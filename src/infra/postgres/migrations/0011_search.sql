-- Search: extracted text, and the index of words and vectors.

-- The text of a blob, once for all files with that content.
create table contents (
  sha256 char(64) collate "C" primary key references blobs on delete cascade,
  -- Null until read.
  indexed_at timestamptz,
  -- The bytes are UTF-8 text: lines are searched in them directly.
  plain boolean not null default false,
  -- Why there's no text: binary, too_large, damaged, encrypted, too_slow.
  reason text,
  -- The text of a document, or of a file in another encoding. Searched if the bytes aren't plain.
  text text,
  title text,
  -- Trigrams of the lower-case text. Null: no narrowing.
  grams int4[],
  attempts int not null default 0,
  -- The version of the reader that looked last.
  reader int not null default 0,
  -- The encoding, named as in the WHATWG Encoding Standard. Null: not text.
  charset text
);
create index contents_grams on contents using gin (grams);
create index contents_unnarrowed on contents (sha256) where grams is null;
create index contents_waiting on contents (sha256) where indexed_at is null;

create function expect_content() returns trigger language plpgsql as $$
begin
  insert into contents (sha256) select sha256 from come on conflict do nothing;
  return null;
end $$;
create trigger blobs_come after insert on blobs referencing new table as come
  for each statement execute function expect_content();

-- Documents that exceeded the limits of time or memory, by content: they aren't retried for a while.
create table slow_documents (
  sha256 char(64) collate "C" not null,
  kind text not null,
  -- The version of the reader that failed: a newer one tries again.
  reader int not null,
  reason text not null,
  at timestamptz not null,
  primary key (sha256, kind)
);
create index slow_documents_at on slow_documents (at);

-- A row per searchable file, chat, message, agent, … Visibility follows the register in the same transaction, so search
-- never returns more than a list.
create table search_rows (
  row_id bigint generated always as identity primary key,
  type text not null,
  -- The ID of the result.
  id ulid not null unique,
  -- The resource whose workspace and status apply: the row's own, or its chat.
  resource_id ulid not null references resources on delete cascade,
  workspace_id ulid not null,
  hidden boolean not null,
  title text not null,
  tsv tsvector not null,
  -- A file's folder, or a message's chat.
  parent_id ulid,
  -- The model of the vectors. Null: no vectors yet.
  embedded text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  -- The version of tokenizing and folding. A job rewrites rows of older versions.
  words_version int not null default 1
  -- Updates that follow the register touch no index, so free space in the pages keeps them cheap.
) with (fillfactor = 80, toast_tuple_target = 256);
-- Long tsvectors are stored apart, so scanning rows reads little.
alter table search_rows alter column tsv set storage external;
create index search_rows_resource on search_rows (resource_id);

-- Words by blocks of 4,096 rows and by workspace, so ranking reads the newest blocks first and a common word costs no
-- more than its ranked rows.
create index search_rows_words on search_rows
  using gin (tsv, (array[(row_id >> 12)::int4]), (array[workspace_id::text]));
create index search_rows_title on search_rows using gin (title gin_trgm_ops);
create index search_rows_unembedded on search_rows (row_id) where embedded is null;

create table search_bodies (
  row_id bigint primary key references search_rows on delete cascade,
  body text not null
);

-- Sign bits of vectors for a scan over all of them: the rows are narrow, and one number (search_space) decides whether
-- a caller may see a row, except for trashed ones.
create table search_vectors (
  row_id bigint not null references search_rows on delete cascade,
  space bigint not null,
  chunk int not null,
  hidden boolean not null,
  bits bit varying not null,
  primary key (row_id, chunk)
) with (fillfactor = 90);
create index search_vectors_space on search_vectors (space);

-- The number that decides whether a query may be compared with a vector, except for trashed ones.
create function search_space(model text, dimensions int, type text, workspace_id text) returns bigint
  language sql immutable parallel safe as
  $$ select ('x' || left(encode(sha256(convert_to(concat_ws(' ', model, dimensions, type, workspace_id), 'UTF8')), 'hex'), 16))::bit(64)::bigint $$;

-- Full vectors, apart from their signs: rows under 2 KB aren't stored out of line, and the scan of signs must not read
-- them.
create table search_passages (
  row_id bigint not null,
  chunk int not null,
  vector bytea not null,
  primary key (row_id, chunk),
  foreign key (row_id, chunk) references search_vectors on delete cascade
);
alter table search_passages alter column vector set storage external;

-- A row's visibility follows its resource in the same transaction.
create function follow_resource() returns trigger language plpgsql as $$
begin
  update search_rows set workspace_id = new.workspace_id, hidden = new.status = 'trashed' where resource_id = new.id;
  if new.workspace_id is distinct from old.workspace_id then
    -- Of words that were written anew since: they wait for other vectors.
    delete from search_vectors v using search_rows s where s.resource_id = new.id and v.row_id = s.row_id and s.embedded is null;
    update search_vectors v set space = search_space(s.embedded, length(v.bits), s.type, s.workspace_id)
      from search_rows s where s.resource_id = new.id and v.row_id = s.row_id;
  end if;
  update search_vectors v set hidden = new.status = 'trashed'
    from search_rows s where s.resource_id = new.id and v.row_id = s.row_id and v.hidden <> (new.status = 'trashed');
  return null;
end $$;
create trigger resources_followed after update on resources for each row
  when (old.status is distinct from new.status or old.workspace_id is distinct from new.workspace_id)
  execute function follow_resource();

create index search_rows_older_words on search_rows (row_id) where words_version < 2;

create function tell_words_version() returns trigger language plpgsql as $$
begin
  new.words_version := case when new.words_version >= 20 then new.words_version / 10 else 1 end;
  return new;
end $$;
create trigger search_rows_words before insert or update of tsv on search_rows
  for each row execute function tell_words_version();
