-- Upload-Metadata as it was sent: tus answers it on every HEAD.
alter table uploads add metadata text;
