-- What somebody has shared, newest first.
create index shares_given on shares (created_by, id desc);
