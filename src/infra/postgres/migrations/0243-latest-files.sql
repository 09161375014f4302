-- What was changed last in a workspace is read from its end, however many files there are.
create index files_latest on files (workspace_id, content_updated_at desc, id desc) where kind = 'file' and not trashed;
