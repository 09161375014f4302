-- Search: the text of bytes, and what can be found by words and by meaning.

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
  attempts int not null default 0,
  -- the reader that looked last
  reader int not null default 0,
  -- The encoding of a text, named as in the WHATWG Encoding Standard. Null: no text.
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

-- What can be found by words and by meaning: a row per file, chat, message, agent, … Access is not kept here but followed
-- from the register in the transaction that changes it, so that a find never shows more than a list.
create table search_rows (
  row_id bigint generated always as identity primary key,
  type text not null,
  -- of what is found
  id ulid not null unique,
  -- whose workspace and status count: its own, or its chat's
  resource_id ulid not null references resources on delete cascade,
  workspace_id ulid not null,
  hidden boolean not null,
  title text not null,
  tsv tsvector not null,
  -- the folder of a file, the chat of a message
  parent_id ulid,
  -- the model whose vectors there are, null while there are none
  embedded text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  -- How the words were split and folded: a job rewrites rows of older versions.
  words_version int not null default 1
  -- What follows the register touches no index, so half-full pages let it be cheap.
) with (fillfactor = 80, toast_tuple_target = 256);
-- Long vectors of words lie apart: who looks for rows reads little.
alter table search_rows alter column tsv set storage external;
create index search_rows_resource on search_rows (resource_id);

-- Words of few thousands of rows at a time, the newest first, and of some workspaces: a word that is everywhere costs no
-- more than what is ranked of it.
create index search_rows_words on search_rows
  using gin (tsv, (array[(row_id >> 12)::int4]), (array[workspace_id::text]));
create index search_rows_title on search_rows using gin (title gin_trgm_ops);
create index search_rows_unembedded on search_rows (row_id) where embedded is null;

create table search_bodies (
  row_id bigint primary key references search_rows on delete cascade,
  body text not null
);

-- Signs of vectors, which a question by meaning is held against all at once: rows as narrow as can be, and one number
-- (search_space) for all that decides whether a caller may see one of them, but for what is in the trash.
create table search_vectors (
  row_id bigint not null references search_rows on delete cascade,
  space bigint not null,
  chunk int not null,
  hidden boolean not null,
  bits bit varying not null,
  primary key (row_id, chunk)
) with (fillfactor = 90);
create index search_vectors_space on search_vectors (space);

-- One number for all that decides whether a question may be held against a vector, but for what is in the trash.
create function search_space(model text, dimensions int, type text, workspace_id text) returns bigint
  language sql immutable parallel safe as
  $$ select ('x' || left(encode(sha256(convert_to(concat_ws(' ', model, dimensions, type, workspace_id), 'UTF8')), 'hex'), 16))::bit(64)::bigint $$;

-- Whole vectors apart from their signs: a row under 2 KB is never taken apart by itself, and who compares signs must not
-- read the vectors along with them.
create table search_passages (
  row_id bigint not null,
  chunk int not null,
  vector bytea not null,
  primary key (row_id, chunk),
  foreign key (row_id, chunk) references search_vectors on delete cascade
);
alter table search_passages alter column vector set storage external;

-- What is found is as visible as its resource, in the transaction that changes that.
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
