/** Why media couldn't be read. `busy`: not the file's fault, so retry. */
export type UnreadableMediaReason = 'empty' | 'other_kind' | 'damaged' | 'too_large' | 'too_slow' | 'busy' | 'missing'

/** Not a readable image, video, or sound. The message is safe to show. */
export class UnreadableMedia extends Error {
  override name = 'UnreadableMedia'
  readonly reason: UnreadableMediaReason
  constructor(reason: UnreadableMediaReason, message: string) {
    super(message)
    this.reason = reason
  }
}
