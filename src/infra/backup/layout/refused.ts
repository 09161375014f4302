/** A backup or a restore cannot go on, for a reason that its owner can change: one line that says which. */
export class BackupRefused extends Error {
  override name = 'BackupRefused'
}
