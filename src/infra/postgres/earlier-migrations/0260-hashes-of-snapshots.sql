-- As the hashes of blobs are kept: two types can't be compared by an index.
alter table computer_snapshots alter column sha256 type char(64) collate "C";
