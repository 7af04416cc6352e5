/** The user of a connection that has not signed in, or has signed out. */
export const NOBODY = ''

/** Reports whether a request of the protocol signs in. */
export const signsIn = (action: string): boolean => action === 'auth' || action === 'gauth'

/**
 * The user of a connection after a request; undefined if the request does not change it.
 * Two tokens belong to the same user if their claims differ only in age. A role that only
 * one of them has makes two users, because rules can tell them apart.
 */
export function userAfter(action: string, { cred = '' }: { cred?: string }): string | undefined {
  if (action === 'unauth') return NOBODY
  return signsIn(action) ? `${action} ${claimsOf(cred) ?? cred}` : undefined
}

function claimsOf(credential: string): string | undefined {
  const payload = credential.split('.')[1]
  try {
    const text = atob(payload!.replace(/-/g, '+').replace(/_/g, '/'))
    const { iat, exp, nbf, jti, ...claims } = JSON.parse(text)
    return JSON.stringify(claims)
  } catch {
    return undefined // a secret identifies the user by itself
  }
}
