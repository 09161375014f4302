import { EventStreamCodec } from '@smithy/eventstream-codec'
import type { Dispatcher } from 'undici'
import { forwardingHandler } from './transport.ts'
import { isObject, parseJson, textOf } from '../../model/json.ts'

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString(),
  (text) => Buffer.from(text),
)

/** The prelude's two lengths and its checksum, and the message's checksum. */
const MIN_MESSAGE = 16
const MAX_MESSAGE = 24 << 20

/** From bytes cut anywhere. Throws a RangeError for anything else. */
export class Unframer {
  #rest: Buffer = Buffer.alloc(0)

  feed(bytes: Buffer): string {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    let out = ''
    while (this.#rest.length >= 4) {
      const size = this.#rest.readUInt32BE(0)
      if (size < MIN_MESSAGE || size > MAX_MESSAGE) throw new RangeError(`a message of ${size} bytes`)
      if (this.#rest.length < size) break
      out += eventOf(this.#rest.subarray(0, size))
      this.#rest = this.#rest.subarray(size)
    }
    return out
  }
}

const words: Record<string, string> = {
  validationException: 'invalid_request_error',
  throttlingException: 'rate_limit_error',
  serviceUnavailableException: 'overloaded_error',
  modelTimeoutException: 'timeout_error',
}

/** A `chunk` holds an Anthropic event; an exception ends the stream. */
function eventOf(message: Buffer): string {
  let frame: ReturnType<typeof codec.decode>
  try {
    frame = codec.decode(message)
  } catch (error) {
    throw new RangeError('a message whose checksum is wrong', { cause: error })
  }
  const { headers, body } = frame
  const payload = parseJson(Buffer.from(body).toString())
  const exception = headers[':exception-type'] ?? headers[':error-code']
  if (exception !== undefined) {
    const name = String(exception.value)
    const type = words[name.charAt(0).toLowerCase() + name.slice(1)] ?? 'api_error'
    const message = isObject(payload) ? textOf(payload['message']) : textOf(headers[':error-message']?.value)
    const error = { type, message: message || 'The provider aborted the response.' }
    return `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`
  }
  const name = textOf(headers[':event-type']?.value)
  // Converse has its own events; InvokeModel wraps the model's events in chunks.
  if (name !== 'chunk') return name === '' ? '' : `event: ${name}\ndata: ${JSON.stringify(payload ?? {})}\n\n`
  const text = isObject(payload) ? Buffer.from(textOf(payload['bytes']), 'base64').toString() : ''
  const event = parseJson(text)
  return isObject(event) ? `event: ${textOf(event['type'])}\ndata: ${text}\n\n` : ''
}

export function unframingHandler(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  let unframer: Unframer | null = null
  return {
    ...forwardingHandler(handler),
    onResponseStart(controller, status, headers, message) {
      if (status < 300 && /vnd\.amazon\.eventstream/i.test(String(headers['content-type'] ?? ''))) {
        unframer = new Unframer()
        headers = { ...headers, 'content-type': 'text/event-stream' }
      }
      handler.onResponseStart?.(controller, status, headers, message)
    },
    onResponseData(controller, bytes) {
      if (unframer === null) return handler.onResponseData?.(controller, bytes)
      try {
        const text = unframer.feed(bytes)
        if (text !== '') handler.onResponseData?.(controller, Buffer.from(text))
      } catch (error) {
        controller.abort(error as Error)
      }
    },
  }
}
