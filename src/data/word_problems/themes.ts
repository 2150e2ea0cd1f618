/**
 * What word problems tell of: sentences by theme and by what they do to a count, with {name}, {thing} and numbers left
 * open. Of every kind of sentence there are some that training reads, and others (`unseen`) that only the report does.
 * Every number is two or more, so that every noun is a plural.
 */

/**
 * What a sentence does to the count v so far: it sets it ({n}, or {a} times {b}), changes it (by {n}, or by {a} times
 * {b}), asks for it, or asks for v/{n}, for {n}-v, or for the sum of the last two persons' counts.
 */
export type Kind =
  | "start"
  | "groups"
  | "gain"
  | "lose"
  | "times"
  | "gainGroups"
  | "ask"
  | "share"
  | "change"
  | "together";

/** The ways to say a sentence. */
export interface Told {
  readonly seen: readonly string[];
  readonly unseen: readonly string[];
}

/** Stories about one thing. */
export interface Theme {
  readonly name: string;
  /** Whether each change of the count is a new person's count, told from that of {from}, the person before. */
  readonly compares: boolean;
  readonly sentences: Readonly<Partial<Record<Kind, Told>>>;
  /** Rows of sentences that make a story of two to four steps. */
  readonly plots: readonly (readonly Kind[])[];
  /** Smallest and largest {n} where the theme's are not the usual ones. */
  readonly ranges?: Readonly<Partial<Record<Kind, readonly [number, number]>>>;
}

export const PEOPLE = [
  ...["Ana", "Ben", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana", "Ivo", "Jun", "Kofi"],
  ...["Lena", "Mara", "Nils", "Olga", "Pia"],
] as const;

export const THINGS = [
  ...["apples", "books", "pens", "coins", "stamps", "marbles", "shells", "cards", "lemons"],
  ...["buttons", "ribbons", "candles"],
] as const;

const plots = (...rows: string[]) => rows.map((row) => row.split(" ") as Kind[]);

/** Plots of themes in which things come, go, multiply and are shared. */
const FLOWS = plots(
  "start gain lose ask",
  "start lose gain ask",
  "start gain times ask",
  "start lose share",
  "groups gain ask",
  "groups lose ask",
  "start gain lose times ask",
  "start times gain lose ask",
  "start gain lose share",
  "groups gain lose ask",
  "groups lose share",
  "start lose times gain lose ask",
  "groups gain lose share",
);

const COMPARISONS = plots(
  "start gain times ask",
  "start times lose ask",
  "start lose times ask",
  "start gain together",
  "start times together",
  "start gain times lose ask",
  "start times gain together",
  "start lose gain times ask",
  "start gain times lose together",
);

export const themes: readonly Theme[] = [
  {
    name: "collection",
    compares: false,
    sentences: {
      start: {
        seen: [
          "{name} has {n} {thing}.",
          "{name} keeps {n} {thing} in a drawer.",
          "At first {name} owns {n} {thing}.",
          "In the morning {name} counts {n} {thing}.",
        ],
        unseen: ["A treasure chest of {n} {thing} belongs to {name}.", "{n} {thing} are {name}'s."],
      },
      groups: {
        seen: [
          "{name} packs {a} bags with {b} {thing} in each.",
          "{name} has {a} boxes, and every box holds {b} {thing}.",
          "{name} lays out {a} rows of {b} {thing}.",
        ],
        unseen: [
          "{name} fills {a} jars, putting {b} {thing} into every one.",
          "On each of {name}'s {a} plates lie {b} {thing}.",
        ],
      },
      gain: {
        seen: [
          "{name} gets {n} more.",
          "Then {name} buys {n} more {thing}.",
          "A friend gives {name} {n} {thing}.",
          "On the way home {name} finds {n} {thing}.",
        ],
        unseen: [
          "Grandma adds {n} as a present.",
          "An uncle sends {name} another {n} by mail.",
        ],
      },
      lose: {
        seen: [
          "{name} gives away {n}.",
          "Then {name} loses {n} of the {thing}.",
          "{name} sells {n} {thing} at the market.",
          "Of the {thing}, {n} are lost.",
        ],
        unseen: [
          "Thieves carry off {n} {thing}.",
          "{n} turn out to be rotten and are thrown out.",
        ],
      },
      times: {
        seen: [
          "After a year {name} has {n} times as many.",
          "Then {name}'s {thing} become {n} times as many.",
          "By trading, {name} makes {n} times as many {thing} of them.",
        ],
        unseen: [
          "With luck the heap grows to {n} times its size.",
          "A magician multiplies them by {n}.",
        ],
      },
      ask: {
        seen: [
          "How many {thing} does {name} have now?",
          "How many {thing} does {name} have in the end?",
          "How many {thing} is that?",
        ],
        unseen: ["Count {name}'s {thing}.", "What number of {thing} is {name} left with?"],
      },
      share: {
        seen: [
          "{name} shares all of them equally among {n} friends. How many {thing} does each friend get?",
          "The {thing} are put into {n} bags, the same number in each. How many {thing} are in a bag?",
          "{n} children divide the {thing} fairly. How many {thing} does each child have?",
        ],
        unseen: [
          "They go into {n} equal parcels. What does one parcel hold?",
          "{n} cousins split everything evenly. What is a cousin's share?",
        ],
      },
    },
    plots: FLOWS,
  },
  {
    name: "shelf",
    compares: false,
    sentences: {
      start: {
        seen: [
          "There are {n} {thing} in a box.",
          "A shelf holds {n} {thing}.",
          "{n} {thing} lie on the table.",
          "A shop has {n} {thing}.",
        ],
        unseen: ["In the attic stands a trunk with {n} {thing}.", "The museum shows {n} {thing}."],
      },
      groups: {
        seen: [
          "There are {a} boxes with {b} {thing} in every box.",
          "Each of {a} tables has {b} {thing} on it.",
          "A shop has {a} shelves of {b} {thing}.",
        ],
        unseen: [
          "A wagon carries {a} crates, and {b} {thing} fit into a crate.",
          "From the ceiling hang {a} strings of {b} {thing}.",
        ],
      },
      gain: {
        seen: [
          "{name} puts {n} more in.",
          "A truck brings {n} more {thing}.",
          "{name} adds {n} {thing}.",
          "{n} new {thing} arrive.",
        ],
        unseen: ["A donor leaves {n} there as well.", "From the cellar come {n} further {thing}."],
      },
      lose: {
        seen: [
          "{name} takes {n} out.",
          "{name} buys {n} of them.",
          "{n} {thing} fall down and are gone.",
          "{n} {thing} are sold.",
        ],
        unseen: ["A customer walks off with {n}.", "{name} uses up {n}."],
      },
      times: {
        seen: [
          "A delivery makes them {n} times as many.",
          "A week later there are {n} times as many {thing}.",
          "Then the number of {thing} is multiplied by {n}.",
        ],
        unseen: [
          "Before the holidays the stock rises to {n} times that.",
          "By spring one finds {n} times the amount.",
        ],
      },
      ask: {
        seen: [
          "How many {thing} are there now?",
          "How many {thing} remain?",
          "How many {thing} are there in the end?",
        ],
        unseen: [
          "What does the count of {thing} come to?",
          "Tell the number of {thing} that one sees at last.",
        ],
      },
      share: {
        seen: [
          "The {thing} go to {n} groups in equal parts. How many {thing} does a group get?",
          "{name} lays them in {n} equal rows. How many {thing} are in a row?",
          "All {thing} are packed into {n} bags evenly. How many {thing} are in each bag?",
        ],
        unseen: [
          "{n} drawers take them, as many in one as in another. What is in a drawer?",
          "Everything is dealt out to {n} pupils alike. What does a pupil receive?",
        ],
      },
    },
    plots: FLOWS,
  },
  {
    name: "savings",
    compares: false,
    sentences: {
      start: {
        seen: [
          "{name} has {n} dollars.",
          "{name} saved {n} dollars last month.",
          "There are {n} dollars in {name}'s purse.",
          "{name} begins the week with {n} dollars.",
        ],
        unseen: [
          "{name}'s piggy bank holds {n} dollars.",
          "A budget of {n} dollars is all {name} has.",
        ],
      },
      groups: {
        seen: [
          "{name} works {a} days and earns {b} dollars a day.",
          "{name} sells {a} {thing} for {b} dollars each.",
          "For {a} weeks {name} saves {b} dollars every week.",
        ],
        unseen: [
          "{a} neighbors pay {name} {b} dollars apiece for help.",
          "{name} mows {a} lawns at {b} dollars a lawn.",
        ],
      },
      gain: {
        seen: [
          "{name} earns {n} dollars more.",
          "Then {name} gets {n} dollars from an aunt.",
          "{name} saves another {n} dollars.",
          "A neighbor pays {name} {n} dollars.",
        ],
        unseen: ["A tip of {n} dollars comes on top.", "The tax office refunds {n} dollars."],
      },
      lose: {
        seen: [
          "{name} spends {n} dollars on lunch.",
          "Then {name} pays {n} dollars for a ticket.",
          "{name} buys a toy for {n} dollars.",
          "{name} loses {n} dollars.",
        ],
        unseen: ["A repair costs {n} dollars.", "{n} dollars go to the landlord."],
      },
      times: {
        seen: [
          "A year later {name} has {n} times as many dollars.",
          "Then {name}'s money becomes {n} times as much.",
          "{name} works hard and makes {n} times as many dollars of it.",
        ],
        unseen: [
          "Shares turn this into {n} times the sum.",
          "A generous uncle raises it to {n} times the amount.",
        ],
      },
      ask: {
        seen: [
          "How many dollars does {name} have now?",
          "How many dollars are left?",
          "How many dollars does {name} have in the end?",
        ],
        unseen: ["What is in {name}'s wallet then?", "To what sum does this bring {name}?"],
      },
      share: {
        seen: [
          "The money is for {n} days, the same for every day. How many dollars is that a day?",
          "{name} buys {thing} for {n} dollars each with all of it. How many {thing} does {name} buy?",
          "{name} shares the dollars equally among {n} sisters. How many dollars does a sister get?",
        ],
        unseen: [
          "It has to last {n} equal weeks. What may a week cost?",
          "{n} heirs receive equal parts of it. What is one part?",
        ],
      },
    },
    plots: FLOWS,
  },
  {
    name: "people",
    compares: false,
    sentences: {
      start: {
        seen: [
          "There are {n} people on a bus.",
          "{n} people are in the park.",
          "A train leaves with {n} people.",
          "A school has {n} children in its yard.",
        ],
        unseen: [
          "{n} guests sit at a wedding.",
          "On a ferry there is room taken by {n} travelers.",
        ],
      },
      groups: {
        seen: [
          "A train has {a} cars with {b} people in each.",
          "In a hall stand {a} rows of {b} people.",
          "{a} buses bring {b} people each.",
        ],
        unseen: ["{a} teams of {b} players meet.", "At {a} tables sit {b} guests apiece."],
      },
      gain: {
        seen: [
          "At the station {n} people get on.",
          "Then {n} more come.",
          "{n} others join them.",
          "A little later {n} people arrive.",
        ],
        unseen: ["{n} latecomers turn up.", "The door opens for another {n}."],
      },
      lose: {
        seen: [
          "Then {n} go home.",
          "{n} people get off.",
          "{n} of them leave.",
          "After a while {n} people walk away.",
        ],
        unseen: ["{n} fall ill and drop out.", "Rain drives {n} away."],
      },
      times: {
        seen: [
          "An hour later there are {n} times as many people.",
          "By noon there are {n} times as many of them.",
          "Then their number is multiplied by {n}.",
        ],
        unseen: [
          "The crowd swells to {n} times its size.",
          "Word gets round, and {n} times that number is there.",
        ],
      },
      ask: {
        seen: [
          "How many people are there now?",
          "How many people is that in the end?",
          "How many people are still there?",
        ],
        unseen: ["What is the head count?", "Say how large the crowd is at last."],
      },
      share: {
        seen: [
          "They form {n} equal teams. How many people are in a team?",
          "They sit in {n} boats, as many in each. How many people sit in a boat?",
          "{n} guides take the same number of people each. How many people does a guide take?",
        ],
        unseen: [
          "Tents are ready for them, {n} of one size, all filled. What does a tent sleep?",
          "One counts them off into {n} equal lines. How long is a line?",
        ],
      },
    },
    plots: FLOWS,
  },
  {
    name: "water",
    compares: false,
    sentences: {
      start: {
        seen: [
          "A tank holds {n} liters of water.",
          "There are {n} liters in a barrel.",
          "{name} pours {n} liters of juice into a can.",
        ],
        unseen: ["A pond begins with {n} liters.", "{n} liters of milk are in the cooler."],
      },
      groups: {
        seen: [
          "{name} empties {a} buckets of {b} liters into a tank.",
          "{name} fills {a} bottles with {b} liters each.",
          "A pump brings {b} liters a minute for {a} minutes.",
        ],
        unseen: [
          "{a} cows give {b} liters of milk apiece.",
          "Rain drips {b} liters an hour into a tub, {a} hours long.",
        ],
      },
      gain: {
        seen: [
          "{name} adds {n} liters.",
          "Rain brings {n} more liters.",
          "Then {n} liters are poured in.",
        ],
        unseen: ["A hose lets in another {n}.", "A stream feeds it with {n} liters."],
      },
      lose: {
        seen: [
          "Then {n} liters leak out.",
          "{name} uses {n} liters for the garden.",
          "{n} liters are spilled.",
        ],
        unseen: ["The sun dries up {n} liters.", "Goats drink {n} of it."],
      },
      times: {
        seen: [
          "After a storm there are {n} times as many liters.",
          "In spring it is {n} times as much.",
          "Then the amount is multiplied by {n}.",
        ],
        unseen: [
          "A flood lifts this to {n} times the volume.",
          "Snow melts, which makes it {n}-fold.",
        ],
      },
      ask: {
        seen: [
          "How many liters are there now?",
          "How many liters is that in the end?",
          "How many liters are left?",
        ],
        unseen: ["What volume does one measure then?", "State the liters at last."],
      },
      share: {
        seen: [
          "It is poured into {n} jugs evenly. How many liters are in a jug?",
          "{n} families get the same amount of it. How many liters does a family get?",
          "The liters last {n} days, the same every day. How many liters is that a day?",
        ],
        unseen: [
          "Troughs, {n} of them, are filled alike with all of it. What is in a trough?",
          "One splits this between {n} fields evenly. What does a field drink?",
        ],
      },
    },
    plots: FLOWS,
  },
  {
    name: "points",
    compares: false,
    sentences: {
      start: {
        seen: [
          "{name} starts a game with {n} points.",
          "After the first round {name} has {n} points.",
          "{name}'s team leads with {n} points.",
        ],
        unseen: [
          "The board shows {n} points for {name}.",
          "A quiz opens with {n} points for {name}.",
        ],
      },
      groups: {
        seen: [
          "{name} scores {b} points in each of {a} rounds.",
          "{name} solves {a} riddles for {b} points each.",
          "{name} hits {a} targets, each worth {b} points.",
        ],
        unseen: [
          "{a} goals count {b} points apiece for {name}.",
          "Every level of {a} gives {name} {b} points.",
        ],
      },
      gain: {
        seen: [
          "{name} wins {n} points.",
          "Then {name} scores {n} more.",
          "A lucky throw brings {n} points.",
        ],
        unseen: ["The judges award another {n}.", "A hidden star is worth {n} on top."],
      },
      lose: {
        seen: [
          "Then {name} loses {n} points.",
          "A mistake costs {n} points.",
          "{n} points are taken away.",
        ],
        unseen: ["A foul is punished by {n}.", "The referee strikes off {n}."],
      },
      times: {
        seen: [
          "A bonus makes the score {n} times as high.",
          "Then every point so far counts {n} times.",
          "Then {name}'s points are multiplied by {n}.",
        ],
        unseen: [
          "A joker raises the total to {n} times its worth.",
          "A golden card makes the sum {n}-fold.",
        ],
      },
      ask: {
        seen: [
          "How many points does {name} have now?",
          "How many points does {name} end with?",
          "How many points is that?",
        ],
        unseen: ["What is the final score?", "Read {name}'s result off the board."],
      },
      share: {
        seen: [
          "They are divided equally among {n} players. How many points does a player get?",
          "{name} trades them for prizes of {n} points each. How many prizes does {name} get?",
          "{n} friends share the points fairly. How many points does each friend get?",
        ],
        unseen: [
          "A prize takes {n} points, and {name} spends the whole score. What number of prizes is it?",
          "{n} partners cut the score into like parts. What is a part?",
        ],
      },
    },
    plots: FLOWS,
  },
  {
    name: "shopping",
    compares: false,
    sentences: {
      groups: {
        seen: [
          "{name} buys {a} {thing} for {b} dollars each.",
          "{name} takes {a} {thing} at {b} dollars apiece.",
          "A ticket costs {b} dollars, and {name} buys {a} tickets.",
          "{name} orders {a} meals for {b} dollars each.",
        ],
        unseen: [
          "Into {name}'s basket go {a} {thing}, {b} dollars a piece.",
          "The bill lists {a} {thing} priced at {b} dollars.",
        ],
      },
      gainGroups: {
        seen: [
          "{name} also buys {a} drinks for {b} dollars each.",
          "Then {name} takes {a} cakes at {b} dollars each.",
          "{a} bags of nuts for {b} dollars each are added.",
        ],
        unseen: [
          "On top come {a} melons, which are {b} dollars apiece.",
          "{a} pairs of socks at {b} dollars a pair follow.",
        ],
      },
      gain: {
        seen: [
          "The delivery costs {n} dollars more.",
          "{name} also pays {n} dollars for a drink.",
          "A bag costs {n} dollars more.",
        ],
        unseen: ["Wrapping is another {n} dollars.", "The waiter gets {n} dollars besides."],
      },
      lose: {
        seen: [
          "A coupon takes {n} dollars off.",
          "The shop lowers the bill by {n} dollars.",
          "{name} gets {n} dollars off.",
        ],
        unseen: ["A regular is spared {n} dollars.", "{n} dollars are waived."],
      },
      ask: {
        seen: [
          "How many dollars does {name} pay?",
          "How many dollars is that together?",
          "How many dollars does it cost?",
        ],
        unseen: ["What is the bill?", "What sum leaves {name}'s wallet?"],
      },
      share: {
        seen: [
          "{n} friends share the bill equally. How many dollars does each friend pay?",
          "{name} pays in {n} equal parts. How many dollars is a part?",
        ],
        unseen: [
          "The cost is split {n} ways. What is owed by each?",
          "Rates are agreed, {n} of the same size. What is a rate?",
        ],
      },
      change: {
        seen: [
          "{name} pays with {n} dollars. How many dollars does {name} get back?",
          "{name} had {n} dollars. How many dollars are left?",
          "{name} gives the clerk {n} dollars. How many dollars of change is that?",
        ],
        unseen: [
          "From {n} dollars, what does {name} bring home?",
          "The till takes {n} dollars and returns what is too much. How much is returned?",
        ],
      },
    },
    plots: plots(
      "groups gain ask",
      "groups lose ask",
      "groups change",
      "groups lose share",
      "groups gain change",
      "groups lose change",
      "groups gainGroups ask",
      "groups gainGroups change",
      "groups gainGroups lose ask",
      "groups gainGroups share",
      "groups gain lose change",
    ),
  },
  {
    name: "work",
    compares: false,
    sentences: {
      start: {
        seen: [
          "{name} works {n} hours on Monday.",
          "{name} walks {n} km every morning.",
          "A bag holds {n} red {thing}.",
          "{name} reads {n} pages before lunch each day.",
        ],
        unseen: [
          "{name}'s shift in the morning has {n} parts.",
          "A box is laid with {n} large {thing}.",
        ],
      },
      gain: {
        seen: [
          "Then come {n} more of them.",
          "{n} more are added to that.",
          "Later it is {n} more.",
        ],
        unseen: ["The evening sees another {n}.", "Put {n} beside those."],
      },
      lose: {
        seen: [
          "Of these {n} do not count.",
          "Then {n} of them are left out.",
          "Then {n} of them are taken off.",
        ],
        unseen: ["Strike {n} from that.", "{n} are lost on the way."],
      },
      times: {
        seen: [
          "It is the same {n} times.",
          "There are {n} like that.",
          "This is done {n} times in all.",
        ],
        unseen: ["So it goes on for {n} rounds in total.", "Take this {n}-fold."],
      },
      ask: {
        seen: [
          "How many is that in all?",
          "How many are there altogether?",
          "How many is it in the end?",
        ],
        unseen: ["Give the whole.", "What does everything come to?"],
      },
      share: {
        seen: [
          "All of it is split into {n} equal parts. How many are in a part?",
          "{n} people share that equally. How many is it for each?",
        ],
        unseen: [
          "Cut the whole into {n} like pieces. What is a piece?",
          "Deal it out fairly to {n}. What is a share?",
        ],
      },
    },
    plots: plots(
      "start gain times ask",
      "start lose times ask",
      "start times lose ask",
      "start gain lose times ask",
      "start gain times lose ask",
      "start gain times share",
      "start times lose share",
      "start lose times gain share",
    ),
    ranges: { start: [2, 12], gain: [2, 9], lose: [2, 9] },
  },
  {
    name: "owning",
    compares: true,
    sentences: {
      start: {
        seen: [
          "{name} has {n} {thing}.",
          "{name} owns {n} {thing}.",
          "{name} carries {n} {thing} in a bag.",
        ],
        unseen: ["In {name}'s pockets are {n} {thing}.", "{n} {thing} stand in {name}'s room."],
      },
      gain: {
        seen: [
          "{name} has {n} more than {from}.",
          "{name} owns {n} {thing} more than {from} does.",
          "{from} has {n} fewer {thing} than {name}.",
        ],
        unseen: [
          "{name} is ahead of {from} by {n}.",
          "{from} would need {n} more to match {name}.",
        ],
      },
      lose: {
        seen: [
          "{name} has {n} fewer than {from}.",
          "{name} owns {n} {thing} less than {from} does.",
          "{from} has {n} more {thing} than {name}.",
        ],
        unseen: ["{name} is {n} short of what {from} has.", "{name} falls behind {from} by {n}."],
      },
      times: {
        seen: [
          "{name} has {n} times as many as {from}.",
          "{name} owns {n} times as many {thing} as {from} does.",
          "For each of the {thing} that {from} has, {name} has {n}.",
        ],
        unseen: [
          "{name}'s number is {n} times {from}'s.",
          "Multiply what {from} has by {n} to get {name}'s.",
        ],
      },
      ask: {
        seen: [
          "How many {thing} does {name} have?",
          "How many {thing} does {name} own?",
          "How many {thing} are {name}'s?",
        ],
        unseen: ["What is {name}'s number of {thing}?", "Count what {name} has."],
      },
      together: {
        seen: [
          "How many {thing} do {from} and {name} have together?",
          "How many {thing} do {name} and {from} own in all?",
        ],
        unseen: [
          "{from} and {name} put theirs in one heap. What is in the heap?",
          "Add up the {thing} of {name} and {from}.",
        ],
      },
    },
    plots: COMPARISONS,
  },
  {
    name: "doing",
    compares: true,
    sentences: {
      start: {
        seen: [
          "{name} rides {n} km.",
          "{name} goes {n} km by bike.",
          "On Sunday {name} runs {n} km.",
        ],
        unseen: ["A tour of {n} km is {name}'s.", "{n} km lie behind {name}."],
      },
      gain: {
        seen: [
          "{name} goes {n} km more than {from}.",
          "{name} goes {n} km farther than {from} does.",
          "{from} goes {n} km less than {name}.",
        ],
        unseen: [
          "{name} beats {from} by {n}.",
          "Had {from} gone {n} km on, it would be as far as {name}.",
        ],
      },
      lose: {
        seen: [
          "{name} goes {n} km less than {from}.",
          "{name} stops {n} km before {from} does.",
          "{from} goes {n} km more than {name}.",
        ],
        unseen: [
          "{name} is beaten by {from} by {n}.",
          "With {n} km on top {name} would equal {from}.",
        ],
      },
      times: {
        seen: [
          "{name} goes {n} times as far as {from}.",
          "{name} goes {n} times as many km as {from} does.",
          "For each km that {from} goes, {name} goes {n}.",
        ],
        unseen: [
          "{name}'s way is {n} times {from}'s.",
          "{from}'s way, taken {n} times, is {name}'s.",
        ],
      },
      ask: {
        seen: [
          "How many km does {name} go?",
          "How far does {name} go in km?",
          "How many km is that for {name}?",
        ],
        unseen: ["Find the length of {name}'s way.", "What does {name}'s counter show?"],
      },
      together: {
        seen: [
          "How many km do {from} and {name} go together?",
          "How many km do {name} and {from} go in all?",
        ],
        unseen: [
          "Laid end to end, how long are the ways of {from} and {name}?",
          "Add up what {name} and {from} have behind them.",
        ],
      },
    },
    plots: COMPARISONS,
  },
];
