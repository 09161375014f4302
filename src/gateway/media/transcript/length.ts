import type { DeliveredMedia, MediaRequest } from '../adapter.ts'

/**
 * Adds the recording's length to a transcript. The probed length wins over the vendor's, which may leave out silence;
 * the vendor's is used if probing failed. Billed usage (`usage` of the answer) isn't changed.
 */
export function withLength(request: MediaRequest, result: DeliveredMedia): DeliveredMedia {
  if (result.kind !== 'transcript' || request.kind !== 'transcription') return result
  const durationSeconds = request.sound.durationSeconds ?? result.transcript.durationSeconds
  return {
    ...result,
    transcript: { ...result.transcript, durationSeconds },
    units: { ...(durationSeconds !== null && { audioSeconds: durationSeconds }), ...result.units },
  }
}
