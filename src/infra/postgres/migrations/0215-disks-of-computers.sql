-- How much a cloud computer may keep on its host's disk, and how much it had when that was last measured.

alter table cloud_computers add column disk_mb int, add column disk_used_bytes bigint;

-- What a home takes that begins with it, unpacked. Null: it was made before this was counted.
alter table computer_snapshots add column home_bytes bigint;
