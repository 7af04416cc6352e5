// The data of the social model, as testdata/models/social has it.

export interface User {
  login: string
  id: number
  name: string
  followers: number
  following: number
  posts: number
  signup: number
  /** The last status posted or deleted: what `posts` counts together with. */
  lastStatus?: string
  /** The user followed or left last: what `following` counts together with. */
  lastEdge?: string
}

export interface Status {
  message: string
  /** In milliseconds since 1970, by the clock of the server. */
  posted: number
  id: number
  uid: string
  login: string
  /** `lat,lon` */
  location?: string
}

/** Keys and times: what Redis would keep as a sorted set. */
export type Timed = Record<string, number>

/** The data of the model. */
export interface SocialData {
  counters: { userId: number; statusId: number }
  logins: Record<string, string>
  users: Record<string, User>
  statuses: Record<string, Status>
  profile: Record<string, Timed>
  home: Record<string, Timed>
  following: Record<string, Timed>
  followers: Record<string, Timed>
  fanout: Record<string, Record<string, Place>>
}

/** A place in a list that is ordered by time. */
export interface Place {
  time: number
  key: string
}
