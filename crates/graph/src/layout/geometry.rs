//! Sizes, boxes and lines.

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Size {
    pub(crate) width: f64,
    pub(crate) height: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Rect {
    pub(crate) fn centred(x: f64, y: f64, size: Size) -> Self {
        let Size { width, height } = size;
        Self { x: x - width / 2.0, y: y - height / 2.0, width, height }
    }

    pub(crate) fn right(&self) -> f64 {
        self.x + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.y + self.height
    }

    pub(crate) fn middle(&self) -> Point {
        Point { x: self.x + self.width / 2.0, y: self.y + self.height / 2.0 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Step {
    Move(Point),
    Line(Point),
    /// A Bézier curve: two controls, then the end.
    Curve(Point, Point, Point),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Path {
    pub(crate) steps: Vec<Step>,
}

impl Path {
    pub(crate) fn start(x: f64, y: f64) -> Self {
        Self { steps: vec![Step::Move(Point { x, y })] }
    }

    pub(crate) fn end(&self) -> Point {
        match self.steps.last() {
            Some(Step::Move(end) | Step::Line(end) | Step::Curve(_, _, end)) => *end,
            None => Point::default(),
        }
    }

    /// Draws a straight line, unless it leads nowhere.
    pub(crate) fn line(&mut self, x: f64, y: f64) {
        let end = self.end();
        if (end.x - x).abs() > 0.05 || (end.y - y).abs() > 0.05 {
            self.steps.push(Step::Line(Point { x, y }));
        }
    }

    /// Draws a curve that leaves and arrives vertically.
    pub(crate) fn swing(&mut self, x: f64, y: f64) {
        let from = self.end();
        if (from.x - x).abs() < 0.5 {
            return self.line(x, y);
        }
        let half = (from.y + y) / 2.0;
        let controls = (Point { x: from.x, y: half }, Point { x, y: half });
        self.steps.push(Step::Curve(controls.0, controls.1, Point { x, y }));
    }

    /// Rounds the corner at `corner` on the way to `to`.
    pub(crate) fn corner(&mut self, corner: Point, to: Point) {
        self.steps.push(Step::Curve(corner, corner, to));
    }

    pub(crate) fn points(&self) -> impl Iterator<Item = Point> {
        self.steps.iter().flat_map(|step| match *step {
            Step::Move(a) | Step::Line(a) => [a; 3],
            Step::Curve(a, b, c) => [a, b, c],
        })
    }

    pub(crate) fn shift(&mut self, dx: f64, dy: f64) {
        let moved = |p: Point| Point { x: p.x + dx, y: p.y + dy };
        for step in &mut self.steps {
            *step = match *step {
                Step::Move(a) => Step::Move(moved(a)),
                Step::Line(a) => Step::Line(moved(a)),
                Step::Curve(a, b, c) => Step::Curve(moved(a), moved(b), moved(c)),
            };
        }
    }
}
