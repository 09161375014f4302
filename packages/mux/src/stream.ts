/**
 * One end's view of a stream. Never buffers more than the credit granted by the reader.
 */

/** A channel of bytes in a stream. */
export type Channel = 0 | 1 | 2 | 3

/** Messages in the order of sending. */
export type Incoming =
  | { type: 'bytes'; channel: Channel; offset: number; bytes: Uint8Array }
  | { type: 'event'; event: unknown }
  /** The peer has sent its last byte; its END may follow. */
  | { type: 'finished' }

/** Requesting the next message grants credit for the previous one, so a slow reader slows the sender. */
export interface Stream extends AsyncIterable<Incoming> {
  /**
   * Resolves when the bytes are sent; don't change them before that. `offset`: their position in the channel if not
   * directly after the previous ones; never decreases. Throws `StreamReset` after the stream ended, or `LinkLost`.
   */
  write(bytes: Uint8Array, channel?: Channel, offset?: number): Promise<void>
  /** Sends up to 64 KiB of JSON after the bytes written before. Resets the stream if more than 1 MiB is queued. */
  event(event: object): void
  /** Resolves when all events are sent or the stream is over. */
  taken(): Promise<void>
  /** Declares the end of our bytes, such as stdin or an upload. */
  finish(): void
  /** Ends both sides immediately. */
  reset(reason: string): void
  /**
   * Ends both sides like a broken link, with `LinkLost` on the other end. Operations that can be repeated by key
   * continue.
   */
  lose(reason: string): void
}

/** The requesting end. */
export interface AskedStream<Output = object> extends Stream {
  /**
   * Rejects with the other end's error, or with `LinkLost` or `StreamReset`. Settles after the bytes before it
   * were read.
   */
  readonly output: Promise<Output>
}

/** The link broke before END. Repeated with its key, the operation resumes. */
export class LinkLost extends Error {
  override name = 'LinkLost'
}

/** The stream was ended early, or is over and can't be written to. */
export class StreamReset extends Error {
  override name = 'StreamReset'
}
