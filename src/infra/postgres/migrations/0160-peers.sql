-- Where a server process listens for the others of its instance, `host:port`; null: nowhere yet.
alter table processes add column peer text;
