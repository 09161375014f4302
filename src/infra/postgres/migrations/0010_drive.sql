-- The drive: files, folders, versions, and their bytes.

-- Bytes, stored once for all files with the same content. Unreferenced rows are swept together with their bytes.
create table blobs (
  sha256 char(64) collate "C" primary key,
  size_bytes bigint not null,
  -- The location in the store.
  place text not null,
  -- When it was last referenced, so the sweep skips new blobs.
  used_at timestamptz not null default now()
);
create index blobs_place on blobs (place);

-- Files and folders. Each has a row in the register, kind 'file' for both.
create table files (
  id ulid primary key references resources on delete cascade,
  -- Copied from the register.
  workspace_id ulid not null,
  -- Null: the workspace's root.
  parent_id ulid references files on delete set null,
  kind text not null check (kind in ('file', 'folder')),
  -- Unicode NFC.
  name text collate "C" not null,
  -- The names from the root, joined by '/'.
  path text collate "C" not null,
  -- The folders from the root; parent_id is last.
  ancestors text[] collate "C" not null default '{}',
  -- Copied from the register: status = 'trashed'.
  trashed boolean not null default false,
  -- The resource it was trashed with; restoring that restores exactly these.
  trashed_with ulid,
  mime_type text,
  size_bytes bigint,
  sha256 char(64) collate "C" references blobs,
  -- Part of the signature of links: trashing a file invalidates its links permanently.
  trashings int not null default 0,
  -- Grows with each change of the content.
  content_version int not null default 0,
  content_updated_at timestamptz(3),
  check ((kind = 'file') = (sha256 is not null))
);

-- Names are unique per folder. Trashed files don't reserve a name.
create unique index files_name on files (workspace_id, parent_id, name) nulls not distinct where not trashed;
create index files_list on files (workspace_id, parent_id, id bpchar_pattern_ops desc) where not trashed;
create index files_parent on files (parent_id);

-- Everything below a folder: ancestors @> array[id].
create index files_below on files using gin (ancestors);

-- A file by path. Hash, since a path can be longer than a B-tree entry.
create index files_path on files using hash (path);
create index files_trashed on files (trashed_with) where trashed;
create index files_sha256 on files (sha256);

-- Path order for find. Paths can be longer than an index entry.
create index files_in_order on files (left(path, 400) collate "C", id) where not trashed;

-- All versions of a file, including the current one.
create table file_versions (
  id ulid primary key,
  file_id ulid not null references files on delete cascade,
  workspace_id ulid not null,
  version int not null,
  sha256 char(64) collate "C" not null references blobs,
  size_bytes bigint not null,
  mime_type text not null,
  -- The version that this one restored.
  restored_from int,
  created_by ulid,
  created_at timestamptz(3) not null default clock_timestamp(),
  unique (file_id, version)
);
create index file_versions_sha256 on file_versions (sha256);
create index file_versions_workspace on file_versions (workspace_id);

-- A workspace's storage is this row plus the changes since it was last added up, so writers never wait for it.
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

-- Resumable uploads (tus 1.0). Received bytes are stored in parts, so any process can continue.
create table uploads (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  workspace_id ulid not null references workspaces on delete cascade,
  parent_id ulid,
  name text not null,
  mime_type text,
  on_conflict text not null,
  -- Upload-Metadata as sent: tus returns it on each HEAD.
  metadata text,
  -- Null until known.
  length_bytes bigint,
  offset_bytes bigint not null default 0,
  -- The resulting file.
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

-- Used one-time links.
create table spent_links (
  id ulid primary key,
  expires_at timestamptz not null
);

-- Thumbnails, by source.
create table thumbnails (
  sha256 char(64) collate "C" not null,
  pixels int not null,
  -- Null: no thumbnail can be made.
  thumbnail char(64) collate "C" references blobs,
  -- The version of the thumbnailer that failed: a newer one tries again.
  maker int not null default 0,
  primary key (sha256, pixels)
);
create index thumbnails_thumbnail on thumbnails (thumbnail);

-- Recently changed files of a workspace, independent of how many files it has.
create index files_latest on files (workspace_id, content_updated_at desc, id desc) where kind = 'file' and not trashed;
