-- The drive: files and folders, what they held, and the bytes.

-- Bytes, once for all files that hold them. A row that nothing refers to is swept, and its bytes with it.
create table blobs (
  sha256 char(64) collate "C" primary key,
  size_bytes bigint not null,
  -- where the store keeps them
  place text not null,
  -- when something last began to refer to it: what was just kept is not swept
  used_at timestamptz not null default now()
);
create index blobs_place on blobs (place);

-- A file or a folder, beside its row in the register (kind 'file' for both).
create table files (
  id ulid primary key references resources on delete cascade,
  -- as in the register
  workspace_id ulid not null,
  -- null at the root of the workspace
  parent_id ulid references files on delete set null,
  kind text not null check (kind in ('file', 'folder')),
  -- NFC
  name text collate "C" not null,
  -- the names from the root on, joined by '/'
  path text collate "C" not null,
  -- the folders from the root on, parent_id last
  ancestors text[] collate "C" not null default '{}',
  -- status = 'trashed' in the register
  trashed boolean not null default false,
  -- with what it was trashed: restoring that brings back exactly these
  trashed_with ulid,
  mime_type text,
  size_bytes bigint,
  sha256 char(64) collate "C" references blobs,
  -- links to its bytes die when it is trashed, for good: they are signed with how often that has happened
  trashings int not null default 0,
  -- counts up with every change of the content
  content_version int not null default 0,
  content_updated_at timestamptz(3),
  check ((kind = 'file') = (sha256 is not null))
);

-- One of a name per folder. What is in the trash holds no name.
create unique index files_name on files (workspace_id, parent_id, name) nulls not distinct where not trashed;
create index files_list on files (workspace_id, parent_id, id bpchar_pattern_ops desc) where not trashed;
create index files_parent on files (parent_id);

-- Everything below a folder: ancestors @> array[id].
create index files_below on files using gin (ancestors);

-- One by its full path. A path can be longer than an entry of a btree.
create index files_path on files using hash (path);
create index files_trashed on files (trashed_with) where trashed;
create index files_sha256 on files (sha256);

-- Finds go through the drive in the order of paths. A path can be longer than an entry of an index.
create index files_in_order on files (left(path, 400) collate "C", id) where not trashed;

-- What a file held, the present content included.
create table file_versions (
  id ulid primary key,
  file_id ulid not null references files on delete cascade,
  workspace_id ulid not null,
  version int not null,
  sha256 char(64) collate "C" not null references blobs,
  size_bytes bigint not null,
  mime_type text not null,
  -- the version that this one brought back
  restored_from int,
  created_by ulid,
  created_at timestamptz(3) not null default clock_timestamp(),
  unique (file_id, version)
);
create index file_versions_sha256 on file_versions (sha256);
create index file_versions_workspace on file_versions (workspace_id);

-- How much a workspace keeps: the row and all changes since it was last added up, so that writers never wait for it.
create table storage (
  workspace_id ulid primary key references workspaces on delete cascade,
  bytes bigint not null
);

create table storage_changes (
  workspace_id ulid not null,
  bytes bigint not null
);
create index storage_changes_workspace on storage_changes (workspace_id);

create function count_storage() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    insert into storage_changes select workspace_id, -sum(size_bytes) from gone group by workspace_id;
  end if;
  if tg_op <> 'DELETE' then
    insert into storage_changes select workspace_id, sum(size_bytes) from come group by workspace_id;
  end if;
  return null;
end $$;
create trigger file_versions_come after insert on file_versions referencing new table as come
  for each statement execute function count_storage();
create trigger file_versions_gone after delete on file_versions referencing old table as gone
  for each statement execute function count_storage();
create trigger file_versions_moved after update on file_versions referencing old table as gone new table as come
  for each statement execute function count_storage();

-- Resumable uploads (tus 1.0). What came so far lies in parts, so that any process can go on.
create table uploads (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  workspace_id ulid not null references workspaces on delete cascade,
  parent_id ulid,
  name text not null,
  mime_type text,
  on_conflict text not null,
  -- Upload-Metadata as it was sent: tus answers it on every HEAD
  metadata text,
  -- null until it is known
  length_bytes bigint,
  offset_bytes bigint not null default 0,
  -- the file that it became
  file_id ulid,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index uploads_expire on uploads (expires_at);

create table upload_parts (
  upload_id ulid not null references uploads on delete cascade,
  start_bytes bigint not null,
  size_bytes bigint not null,
  place text not null,
  primary key (upload_id, start_bytes)
);
create index upload_parts_place on upload_parts (place);

-- Addresses that were used and hold only once.
create table spent_links (
  id ulid primary key,
  expires_at timestamptz not null
);

-- Small pictures of pictures, by what they are made from.
create table thumbnails (
  sha256 char(64) collate "C" not null,
  pixels int not null,
  -- null: none can be made of it
  thumbnail char(64) collate "C" references blobs,
  -- which maker found that there is none: a better one tries again
  maker int not null default 0,
  primary key (sha256, pixels)
);
create index thumbnails_thumbnail on thumbnails (thumbnail);

-- What was changed last in a workspace is read from its end, however many files there are.
create index files_latest on files (workspace_id, content_updated_at desc, id desc) where kind = 'file' and not trashed;
