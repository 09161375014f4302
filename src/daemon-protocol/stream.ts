/**
 * A stream of a link, as both of its ends see it: on the link between server and daemon, on the socket between daemon
 * and keeper, and between two servers one of which holds the link. Nothing is buffered beyond the credit that the
 * reader gave.
 */
import type { Channel, OperationName, Output } from './operations.ts'

/** Messages in the order in which the other end sent them. */
export type Incoming =
  | { type: 'bytes'; channel: Channel; offset: number; bytes: Uint8Array }
  | { type: 'event'; event: unknown }
  /** The other end sends no more bytes; its END may still come. */
  | { type: 'finished' }

/** Asking for the next one gives the other end credit for the bytes of the last: who reads slowly slows the sender. */
export interface Stream extends AsyncIterable<Incoming> {
  /**
   * Resolves when the bytes have left; until then they must not change. `offset`: where they stand in their channel, if
   * that is not behind the last ones; it never goes back. Throws once the stream has ended (`StreamReset`) or the link is
   * lost (`LinkLost`).
   */
  write(bytes: Uint8Array, channel?: Channel, offset?: number): Promise<void>
  /**
   * Sends at most 64 KiB of JSON, behind the bytes that were written before it. Where more than 1 MiB waits, the stream
   * is reset.
   */
  event(event: object): void
  /** Resolves when all events have left, or the stream is over. */
  taken(): Promise<void>
  /** Says that no more of our bytes come: the end of stdin, of an upload. */
  finish(): void
  /** Ends it on both ends, whatever is under way. */
  reset(reason: string): void
  /**
   * Ends it on both ends as if the link between them had broken: `LinkLost` there too. What can be asked for again by its
   * key goes on meanwhile.
   */
  lose(reason: string): void
}

/** The end that asked. */
export interface AskedStream<O extends OperationName> extends Stream {
  /** Rejects with the daemon's refusal (`Refusal`), or with `LinkLost` or `StreamReset`. Comes when the bytes before it were taken. */
  readonly output: Promise<Output<O>>
}

/** The link broke before the stream's END came. Asked again with its key, an operation goes on where it was. */
export class LinkLost extends Error {
  override name = 'LinkLost'
}

/** Thrown where one end ended the stream before its time, or it is over and cannot be written to. */
export class StreamReset extends Error {
  override name = 'StreamReset'
}
