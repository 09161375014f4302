-- The workspace of the key that was answered: a key of one workspace names what was said there alone.
alter table kept_items add column held_to ulid references workspaces on delete cascade;
