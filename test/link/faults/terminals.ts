import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { type Screen, feed, linesOf, screenOf } from '../../computers/keeper.ts'
import { until } from '../../until.ts'
import type { Scene } from './scene.ts'

/** Draws all over the screen, endlessly. */
const DRAWS = String.raw`i=0; while :; do i=$((i+1)); printf '\033[%d;%dH\033[3%dm%s\033[K' $((i % 24 + 1)) $((i * 7 % 70 + 1)) $((i % 8)) "step $i"; [ $((i % 37)) = 0 ] && printf '\033[5;20r\033[20;1H\n\n\033[r\0337'; [ $((i % 101)) = 0 ] && printf '\033[?1049h\033[2J'; [ $((i % 101)) = 50 ] && printf '\033[?1049l'; [ $((i % 10)) = 0 ] && sleep 0.02; done`

/** A viewer that reconnects after each break, to whichever process responds. */
abstract class ReconnectingViewer {
  protected readonly scene: Scene
  readonly id: string
  #socket: WebSocket | null = null
  #leaving = false
  /** The terminal ended or the computer doesn't know it. */
  over = false

  constructor(scene: Scene, id: string) {
    this.scene = scene
    this.id = id
  }

  protected abstract query(): string
  protected abstract bytes(bytes: Buffer): void
  protected abstract event(event: { type: string; [field: string]: any }): void
  protected onOpen(): void {}

  protected say(event: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(event))
  }

  begin(): this {
    this.#connect()
    return this
  }

  #connect(): void {
    const url = this.scene.socketUrl(`/terminals/${this.id}/attach?${this.query()}`)
    const socket = new WebSocket(url, {
      headers: { authorization: `Bearer ${this.scene.key}` },
      handshakeTimeout: 10_000,
    })
    this.#socket = socket
    socket.on('open', () => this.onOpen())
    socket.on('message', (data: Buffer, binary) => {
      if (binary) return this.bytes(data)
      const event = JSON.parse(data.toString()) as { type: string }
      if (event.type === 'ended') this.over = true
      this.event(event)
    })
    socket.on('error', () => {})
    socket.once('close', (code) => {
      if (code === 4404) this.over = true
      if (!this.#leaving && !this.over) setTimeout(() => this.#connect(), 50 + Math.random() * 200).unref()
    })
  }

  leave(): void {
    this.#leaving = true
    this.#socket?.terminate()
  }
}

async function open(scene: Scene, argv: readonly string[]): Promise<string> {
  for (;;) {
    const answer = await scene.ask('POST', '/terminal', { action: 'open', argv, cols: 80, rows: 24 })
    if (answer?.status === 200) return answer.data.terminal_id
    assert.ok(answer === null || answer.status >= 500 || answer.status === 409, JSON.stringify(answer))
    await sleep(100)
  }
}

/** A busy screen, viewed from its first byte. */
export class ScreenViewer extends ReconnectingViewer {
  #screen: Screen = screenOf()
  #at = 0
  #receivedBytes = 0
  #parts: Buffer[] = []
  /** How often a snapshot replaced missed output. */
  gaps = 0

  static async open(scene: Scene): Promise<ScreenViewer> {
    return new ScreenViewer(scene, await open(scene, ['bash', '-c', DRAWS])).begin()
  }

  protected query(): string {
    return `from=${this.#receivedBytes}`
  }

  protected bytes(bytes: Buffer): void {
    this.#parts.push(bytes)
    this.#receivedBytes += bytes.length
  }

  protected event(event: { type: string; data?: string; at?: number }): void {
    if (event.type !== 'snapshot') return
    this.gaps++
    this.#screen = screenOf()
    this.#parts = []
    feed(this.#screen, Buffer.from(event.data!))
    this.#at = this.#receivedBytes = event.at!
  }

  /** Whether the viewer's screen equals the computer's. Null: the terminal is lost or output was missed. */
  async isTrue(): Promise<boolean | null> {
    const answer = await this.scene.ask('POST', '/terminal', {
      action: 'read',
      terminal_id: this.id,
      screen: true,
      max_bytes: 1,
    })
    if (answer?.status !== 200 || answer.data.status !== 'open') return null
    const { snapshot, at } = answer.data as { snapshot: string; at: number }
    await until(
      async () => this.#receivedBytes,
      (receivedBytes) => receivedBytes >= at || this.over,
    )
    if (this.#at > at || this.#receivedBytes < at) return null
    const bytes = Buffer.concat(this.#parts)
    feed(this.#screen, bytes.subarray(0, at - this.#at))
    this.#parts = [bytes.subarray(at - this.#at)]
    this.#at = at
    const screen = screenOf()
    feed(screen, Buffer.from(snapshot))
    assert.deepEqual(linesOf(this.#screen), linesOf(screen))
    return true
  }
}

/** A program that records input from two numbered sources: calls and a WebSocket. */
export class InputRecorder extends ReconnectingViewer {
  readonly #file: string
  #posted = 0
  #sentCount = 0
  #pending: number[] = []

  constructor(scene: Scene, id: string, file: string) {
    super(scene, id)
    this.#file = file
  }

  static async open(scene: Scene, at: number): Promise<InputRecorder> {
    const file = join(scene.machine.folder, `typed-${at}`)
    const argv = ['sh', '-c', `stty raw -echo; : > ${file}; exec cat >> ${file}`]
    return new InputRecorder(scene, await open(scene, argv), file).begin()
  }

  protected query(): string {
    return 'viewer=typist&from=0'
  }
  protected bytes(): void {}
  protected override onOpen(): void {
    for (const seq of this.#pending) this.say({ type: 'input', data: `socket ${seq}\n`, seq })
  }
  protected event({ type, seq }: { type: string; seq?: number }): void {
    if (type === 'typed') this.#pending = this.#pending.filter((one) => one > seq!)
  }

  get #isReady(): boolean {
    try {
      readFileSync(this.#file)
      return true
    } catch {
      return false
    }
  }

  async types(stop: () => boolean): Promise<void> {
    await until(async () => this.#isReady || this.over, Boolean)
    while (!stop() && !this.over) {
      if (this.#pending.length < 50) {
        this.#pending.push(++this.#sentCount)
        this.say({ type: 'input', data: `socket ${this.#sentCount}\n`, seq: this.#sentCount })
      }
      await this.#post(stop)
      await sleep(30)
    }
  }

  async #post(stop: () => boolean): Promise<void> {
    const seq = this.#posted + 1
    const body = { action: 'write', terminal_id: this.id, data: `call ${seq}\n`, seq }
    while (!this.over) {
      const answer = await this.scene.ask('POST', '/terminal', body)
      if (answer?.status === 200) return void (this.#posted = seq)
      if (answer?.status === 404 || answer?.data?.code === 'invalid_state') return void (this.over = true)
      assert.ok(answer === null || answer.status >= 500 || answer.status === 409, JSON.stringify(answer))
      if (stop()) return
      await sleep(50)
    }
  }

  /** All input is there once, in order; of a lost terminal, a prefix. */
  async check(): Promise<number> {
    if (!this.over)
      await until(
        async () => this.#lines().length,
        (count) =>
          this.over || (count >= this.#posted + this.#sentCount - this.#pending.length && this.#pending.length === 0),
      )
    const lines = this.#lines()
    for (const [who, most] of [
      ['call', this.#posted + 1],
      ['socket', this.#sentCount],
    ] as const) {
      const own = lines.filter((line) => line.startsWith(who))
      assert.deepEqual(
        own,
        own.map((_, at) => `${who} ${at + 1}`),
      )
      assert.ok(own.length <= most)
      if (!this.over && who === 'call') assert.ok(own.length >= this.#posted)
      if (!this.over && who === 'socket') assert.equal(own.length, this.#sentCount)
    }
    return lines.length
  }

  #lines(): string[] {
    return this.#isReady ? readFileSync(this.#file, 'utf8').split('\n').filter(Boolean) : []
  }
}
