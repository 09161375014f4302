import type { RawData, WebSocket } from 'ws'
import { ViewerEvent } from '#daemon-protocol/operations.ts'
import { z } from 'zod'

type ViewerMessage = z.infer<typeof ViewerEvent>

/** The size limit of one event on the link. */
const MAX_EVENT_BYTES = 32_768
/** Terminals may read pasted or scripted input slower, so the rest waits with the viewer. */
const BYTES_PER_MS = 1_024

const Message = z.discriminatedUnion('type', [
  z.object({ type: z.literal('input'), data: z.string(), seq: z.number().int().min(0).nullable().default(null) }),
  z.object({
    type: z.literal('resize'),
    cols: z.number().int().min(1).max(1_000),
    rows: z.number().int().min(1).max(1_000),
  }),
])

export interface Viewer {
  say(event: ViewerMessage): void
  /** While true, reading from the viewer pauses until `resumeReading`. */
  isFull(): boolean
}

/** Closes the socket on invalid messages. */
export function readViewer(socket: WebSocket, { say, isFull }: Viewer): { resumeReading(): void } {
  let isResting = false
  const resumeReading = (): void => {
    if (socket.isPaused && !isResting && !isFull()) socket.resume()
  }
  const input = (bytes: Buffer, seq: number | null): ViewerMessage => ({
    type: 'input',
    data: bytes.toString('base64'),
    seq,
  })
  socket.on('message', (message: RawData, isBinary: boolean) => {
    const bytes = bytesOf(message)
    if (isBinary) {
      for (let at = 0; at < bytes.length; at += MAX_EVENT_BYTES)
        say(input(bytes.subarray(at, at + MAX_EVENT_BYTES), null))
    } else {
      const { data } = Message.safeParse(json(bytes))
      if (data === undefined)
        return socket.close(1008, 'a message is {type: input, data, seq} or {type: resize, cols, rows}')
      if (data.type === 'resize') say(data)
      else {
        const inputBytes = Buffer.from(data.data)
        if (inputBytes.length > MAX_EVENT_BYTES)
          return socket.close(1009, 'a message can have up to 32,768 bytes of input with a seq')
        say(input(inputBytes, data.seq))
      }
    }
    const pause = Math.floor(bytes.length / BYTES_PER_MS)
    if (pause === 0 && !isFull()) return
    socket.pause()
    if (pause === 0) return
    isResting = true
    setTimeout(() => {
      isResting = false
      resumeReading()
    }, pause)
  })
  return { resumeReading }
}

const bytesOf = (message: RawData): Buffer =>
  Buffer.isBuffer(message) ? message : Array.isArray(message) ? Buffer.concat(message) : Buffer.from(message)

function json(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return null
  }
}
