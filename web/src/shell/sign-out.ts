import { uk } from '../shared/api.ts'
import { forgetUploads } from '../shared/drive/uploads/stored-uploads.ts'

/**
 * Signs out and loads a new page, which clears everything of the person from memory. The server ends this browser's
 * push subscription with the session.
 */
export async function leave(): Promise<void> {
  const { url } = await uk.ways_in.sign_out()
  await import('../shared/service-worker/push.ts').then(({ forgetPushes }) => forgetPushes()).catch(() => {})
  forgetUploads()
  location.assign(url ?? '/app/sign-in')
}
