/** Why media could not be read. `busy`: the file is not to blame, so it may be tried again. */
export type UnreadableMediaReason = 'empty' | 'other_kind' | 'damaged' | 'too_large' | 'too_slow' | 'busy' | 'missing'

/** The bytes are not a picture, video or sound that can be read. The message says what is wrong with them and may be shown. */
export class UnreadableMedia extends Error {
  override name = 'UnreadableMedia'
  readonly reason: UnreadableMediaReason
  constructor(reason: UnreadableMediaReason, message: string) {
    super(message)
    this.reason = reason
  }
}
