/** A backup or restore can't continue for a reason the user can fix. The message is one line. */
export class BackupRefused extends Error {
  override name = 'BackupRefused'
}
